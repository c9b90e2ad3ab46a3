"""Policy, actions, receipts, seals and evidence: receives a client, returns verdicts and proofs."""
