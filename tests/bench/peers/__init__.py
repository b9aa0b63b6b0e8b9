"""App modules of the peers: run by `.bench-venv`, never imported by Callboard's own venv."""
