"""Differentially private tables that keep mandated facts exact."""
