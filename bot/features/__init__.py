"""The features of Mneme. Each is a package here that nothing else imports (bot/feature.py)."""
