"""Ask for approvals in Slack and take the answers: cards out, signed callbacks in, one way to decide."""
