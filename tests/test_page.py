def test_nothing_leaves_the_machine(open_tab):
    tab = open_tab(
        "data:text/html,<img src='http://8.8.8.8/x.png'><img src='https://example.org/x.png'><script>fail()</script>"
    )
    tab.until(lambda: len(tab.foreign()) == 2, "two requests are logged")
    tab.until(lambda: len(tab.errors) >= 3, "both fail, and so does the script")
    print(tab.requests, tab.errors)
    assert tab.shot("x").shape == (768, 1366, 3)
