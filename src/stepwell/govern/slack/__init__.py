"""Approvals in Slack: send cards, receive signed callbacks, decide with `fn_approval_decide`."""
