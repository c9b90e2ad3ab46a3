-- Slack accounts and the people they belong to.
create or replace view stepwell.v_slack_user with (security_invoker = true) as
select s.tenant_id, s.slack_user_id, p.person_name, p.is_active, s.mapped_at, s.mapped_by
from stepwell.slack_user as s
inner join stepwell.person as p on s.tenant_id = p.tenant_id and s.person_id = p.person_id;
