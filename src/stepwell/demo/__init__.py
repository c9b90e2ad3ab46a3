"""The demo: workflows, people and a history of past days, all made by the engine itself."""
