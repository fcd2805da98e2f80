"""Recordings, reports, certificates and exports."""
