-- What people have before them: their open work and what their roles may take, most urgent first when ordered by
-- priority and deadline.
create or replace view stepwell.v_inbox with (security_invoker = true) as
select h.*
from stepwell.v_human_step as h
where h.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue');
