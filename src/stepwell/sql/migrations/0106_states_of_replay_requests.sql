-- A replay request has two states: proposal_state is that of every proposal (document 000 §8.1), replay_state tells what became of
-- what was granted. Until now proposal_state had both.

alter table stepwell.dlq_replay_request drop constraint replay_state_is_known;
drop index stepwell.replays_open;
alter table stepwell.dlq_replay_request add column replay_state text;

update stepwell.dlq_replay_request as r
set replay_state = r.proposal_state, proposal_state = case when r.outcome_jsonb ->> 'state' = 'refused' then 'approved' else 'merged' end
where r.proposal_state in ('scheduled', 'completed', 'failed');
-- What waits for its stage is granted, as its plan is.
update stepwell.dlq_replay_request as r set proposal_state = 'approved'
from stepwell.dlq_replay_plan as p
where r.tenant_id = p.tenant_id and r.plan_id = p.plan_id and p.plan_state = 'running' and r.proposal_state = 'submitted';

alter table stepwell.dlq_replay_request
add constraint proposal_state_is_known
check (proposal_state in ('draft', 'submitted', 'review', 'approved', 'rejected', 'merged')),
add constraint replay_state_is_known check (replay_state in ('scheduled', 'completed', 'failed')),
add constraint what_is_merged_is_scheduled check (
    case proposal_state when 'merged' then replay_state is not null when 'approved' then coalesce(replay_state, 'failed') = 'failed'
        else replay_state is null end
);
create index replays_open on stepwell.dlq_replay_request (tenant_id, replay_request_id) where replay_state = 'scheduled';
comment on column stepwell.dlq_replay_request.proposal_state is
'One of the states of a proposal: submitted, approved (waits for its stage), merged (in the queue again), rejected.';
comment on column stepwell.dlq_replay_request.replay_state is
'What became of it: scheduled, completed or failed; null until it is carried out.';
