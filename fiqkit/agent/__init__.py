"""The agent under test: its actions, prompts, modes and policies, and the environment that it acts in."""
