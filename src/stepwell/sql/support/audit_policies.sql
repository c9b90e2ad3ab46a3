-- Version and hash of the policy of each verdict that names one.
select v.verdict_id, s.version_no, s.rules_hash
from stepwell.policy_verdict as v
inner join stepwell.policy_set as s on v.tenant_id = s.tenant_id and v.policy_set_id = s.policy_set_id
where v.tenant_id = %(tenant_id)s and v.verdict_id = any (%(verdict_ids)s)
