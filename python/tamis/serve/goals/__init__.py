"""Answers to goals: what a query needs besides its filters."""
