-- Texts that earlier migrations stored, in the words of the glossary. A text that an installation has changed stays.
-- The reason of a wait for an approval names the approval, and how many have agreed.
update stepwell.i18n_text as t set text_value = n.after
from (values
    ('why.approval', 'en', '{name} waits for the decision of the reviewers.',
        '{name} waits for approval {approval}: {agreed} of {quorum} have agreed.'),
    ('why.approval', 'vi', '{name} chờ quyết định của người duyệt.',
        '{name} chờ phê duyệt {approval}: {agreed}/{quorum} người đã đồng ý.'),
    ('why.assigned', 'en', '{name} waits until {person} takes it up.', '{name} waits until {person} claims it.'),
    ('why.concurrency', 'en', '{name} stands in line for {key}, at place {place}; at most {limit} run at once.',
        '{name} waits for a slot of {key}, at place {place}; at most {limit} run at once.'),
    ('why.rate', 'en',
        '{name} stands in line for {key}, at place {place}; {limit} may enter within {seconds} s, the next at {at}.',
        '{name} waits for {key}, at place {place}; {limit} may enter within {seconds} s, the next at {at}.'),
    ('why.paused', 'en', '{name} does not go on because run {run} is paused; a reviewer can resume it.',
        '{name} does not continue because run {run} is paused; a reviewer can resume it.'),
    ('why.tenant_cap', 'en', '{name} can run, but its tenant has {limit} in hand already, which is its cap.',
        '{name} can run, but its tenant has {limit} leased already, which is its cap.'),
    ('why.no_worker', 'en', '{name} can run, but no live worker serves class {class}.',
        '{name} can run, but no live worker serves executor {class}.'),
    ('why.queued', 'en', '{name} can run and is at place {place} of the queue of class {class}.',
        '{name} can run and is at place {place} of the queue of executor {class}.'),
    ('why.unexplained', 'en', '{name} is {state}, and nothing is left that could move it; this is a fault of the engine.',
        '{name} is {state}, and nothing can change that; this is a fault of the engine.'),
    ('state.cancelled.short', 'en', 'Called off; will not be done', 'Cancelled; will not be done'),
    ('state.overdue.short', 'en', 'Past its deadline, can still be saved', 'Past its deadline; can still be completed'),
    ('state.ready.short', 'en', 'Can start; waits for somebody to take it', 'Can start; waits for a person or a worker'),
    ('proposal.submitted.short', 'en', 'Sent in; waits for a reviewer', 'Waits for a reviewer'),
    ('receipt.confirmed.short', 'en', 'Done, and known to be', 'It is certain that it was done'),
    ('receipt.intended.short', 'en', 'Written down before it is done', 'Recorded before it is done'),
    ('receipt.reversed.short', 'en', 'Done, and undone since', 'Done, and reversed later'),
    ('receipt.void.short', 'en', 'Surely not done', 'It is certain that it was not done'),
    ('problem.remedy.set_aside', 'en',
        'Read the reason and mend its cause. It is tried again by itself; the problem closes when it goes on.',
        'Read the reason and remove its cause. It is tried again automatically; the problem closes when it continues.')
) as n (text_key, lang, before, after)
where t.text_key = n.text_key and t.lang = n.lang and t.text_value = n.before;

update stepwell.i18n_text set text_key = 'why.in_progress' where text_key = 'why.in_hand';

update stepwell.dot_config as c set description = n.after
from (values
    ('A deadline in working time lies at most so many days ahead', 'A deadline in working time is at most this many days ahead'),
    ('A summary less sure than this is flagged and resolves nothing',
        'A summary with less confidence than this is flagged and resolves nothing'),
    ('A token expires after so many seconds at the latest', 'A token expires after at most this many seconds'),
    ('A worker unheard of for longer is silent; the last part may be an executor class',
        'A worker without a heartbeat for longer is silent; the last part may be an executor class'),
    ('An approval nobody decides expires after this time', 'An approval that nobody decides expires after this time'),
    ('Can be taken up', 'Can be claimed'),
    ('Late, and can still be saved', 'Late; can still be completed'),
    ('Stands still and needs attention', 'Is blocked and needs attention'),
    ('The sub-workflow stands still', 'The sub-workflow is blocked'),
    ('Idle: nothing is expected of anyone', 'Idle: nobody has to do anything'),
    ('Most runs or jobs removed by one sweep; the next sweep goes on',
        'Most runs or jobs removed by one sweep; the next sweep continues'),
    ('Most writes of one run where neither workflow nor tenant says otherwise',
        'Most writes of one run if neither its workflow nor its tenant has a cap'),
    ('Roles whose people look after the work of others: assign, move deadlines, escalate, reopen',
        'Roles whose people oversee the work of others: assign, move deadlines, escalate, reopen'),
    ('So long an event key is remembered, and an event waits for a taker',
        'How long an event key is remembered, and an event waits for a step'),
    ('So many monthly partitions of the event log exist ahead of time',
        'How many monthly partitions of the event log exist in advance'),
    ('So often the keeper seals what is new in the log; 0 seals nothing by itself',
        'How often the keeper seals new events of the log; with 0 it seals nothing'),
    ('True: cancelling a run needs a granted approval. False: the reviewer''s word is enough',
        'True: cancelling a run requires a granted approval. False: the reviewer decides alone'),
    ('True: queueing dead work again needs a granted approval. False: the request is granted as it is made',
        'True: a replay of dead work requires a granted approval. False: the request is granted at once')
) as n (before, after)
where c.description = n.before;

update stepwell.dot_config set description = regexp_replace(description, '^So long ', 'How long ')
where description like 'So long %';

-- The texts of steps, tasks and jobs differ only in that word.
update stepwell.event_type_registry as e set description = n.changed
from (
    select
        r.event_type,
        replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(r.description,
            'was called off', 'was cancelled'),
            'was handed back', 'was released'),
            'can be taken up', 'can be claimed'),
            'without which the', 'that the'),
            'cannot go on', 'requires'),
            'is there; the', 'is available; the'),
            'goes on', 'continues'),
            'tried again by itself', 'tried again automatically'),
            'waited for has come', 'waited for has happened'),
            'Somebody else was told', 'Somebody else was notified') as changed
    from stepwell.event_type_registry as r
) as n
where e.event_type = n.event_type and e.description <> n.changed;

update stepwell.event_type_registry as e set description = n.after
from (values
    ('A handler told something of its own', 'A handler emitted its own event'),
    ('A proposal was begun', 'A proposal was started'),
    ('A proposal was sent in', 'A proposal was submitted'),
    ('A reviewer let the run go on', 'A reviewer resumed the run'),
    ('A reviewer took the proposal up', 'A reviewer began to review the proposal'),
    ('The ended run continues, because one of its steps does', 'The ended run continues, because one of its steps continues'),
    ('An action was performed, or found to have been', 'An action was performed, or it was found that it had been performed'),
    ('The effect surely did not happen', 'The effect certainly did not happen'),
    ('The effect was undone by another', 'The effect was reversed by another effect'),
    ('The question is no longer asked', 'The approval is no longer needed'),
    ('Reviewers were asked', 'An approval was requested')
) as n (before, after)
where e.description = n.before;

update stepwell.guard_predicate as g set description = n.after
from (values
    ('The deadline is set and lies in the past', 'The deadline is set and is in the past'),
    ('The deadline is unset or lies ahead again', 'There is no deadline, or it is in the future again'),
    ('The executor class is known and the worker holds the lease', 'The executor class is known and the worker has the lease'),
    ('The worker session that holds the lease has ended', 'The worker session that has the lease has ended'),
    ('The person is in charge of the unit, could take it, or looks after it',
        'The person is in charge of the unit, could claim it, or oversees it'),
    ('The person is in charge of the unit, or looks after it', 'The person is in charge of the unit, or oversees it'),
    ('A person in charge is set, or the actor takes that place', 'There is a person in charge, or the actor becomes it')
) as n (before, after)
where g.description = n.before;

update stepwell.guard_predicate set description = replace(description, 'The person looks after the unit: ', 'The person oversees the unit: ')
where description like 'The person looks after the unit: %';

update stepwell.rollup_policy_def as p set description = n.after
from (values
    ('A branch not taken pulls the run neither to yellow nor to red', 'A branch that was not taken makes the run neither yellow nor red'),
    ('An optional step never pulls the colour of its run', 'A step that is not mandatory never changes the colour of its run')
) as n (before, after)
where p.description = n.before;

update stepwell.failure_class_registry as f set description = n.after
from (values
    ('Another system asks to come back later', 'Another system asks to try again later'),
    ('Another system failed by itself', 'Another system failed internally'),
    ('Something named does not exist', 'Something that was named does not exist'),
    ('The machine of the worker ran out of something', 'The machine of the worker has no memory, disk or other resource left'),
    ('The question to the reviewers was taken back', 'The request for an approval was withdrawn')
) as n (before, after)
where f.description = n.before;

update stepwell.state_machine_def as m set description = n.after
from (values
    ('A question put to reviewers, decided by a quorum before it expires', 'A question to reviewers, decided by a quorum before it expires'),
    ('A task inside a step, with a person in charge of its own', 'A task inside a step; it has its own person in charge'),
    ('An effect in another system: meant, known to have happened, or in doubt',
        'An effect in another system: intended, certain, or in doubt')
) as n (before, after)
where m.description = n.before;

update stepwell.executor_class set description = 'CPU-bound functions, each in a separate process'
where description = 'CPU-bound functions, each in a process of its own';

update stepwell.transition_def as d set reason = n.after
from (values
    ('A Wait, map or sub-workflow node ends when what it waits for has come',
        'A wait, a Map or a sub-workflow ends when what it waits for has happened'),
    ('A branch not taken ends without being done', 'The steps of a branch that was not taken are skipped'),
    ('A decision could not be evaluated, or a map item or a sub-workflow failed',
        'A conditional could not be evaluated, or an item of a Map or a sub-workflow failed'),
    ('A failure is passed on to what depends on it', 'What depends on a failed unit is cancelled'),
    ('A job with a start time ahead becomes claimable by the clock, not by predecessors',
        'A job with a start time in the future becomes claimable by the clock, not by predecessors'),
    ('A machine step that wakes holds no lease and must be claimed again',
        'A step of a worker that is woken has no lease and must be claimed again'),
    ('A run that is cancelled takes every unit with it that has not ended',
        'When a run is cancelled, every unit of it that has not ended is cancelled'),
    ('A worker that stops gracefully hands back what it has not finished',
        'A worker that stops normally releases what it has not finished'),
    ('A worker that vanished must not hold its work for ever', 'The work of a worker that is lost becomes claimable again'),
    ('An overdue unit can be declared impossible; its overdue marks survive',
        'It can be declared that an overdue unit cannot complete; its overdue marks stay'),
    ('An overdue unit can be handed back too; its overdue marks survive',
        'An overdue unit can be released too; its overdue marks stay'),
    ('An overdue unit can fail; its overdue marks survive', 'An overdue unit can fail; its overdue marks stay'),
    ('An overdue unit may be blocked; its overdue marks survive', 'An overdue unit may be blocked; its overdue marks stay'),
    ('An overdue unit may have to wait; its overdue marks survive', 'An overdue unit may have to wait; its overdue marks stay'),
    ('An unblocked machine step holds no lease and must be claimed again',
        'A step of a worker that is unblocked has no lease and must be claimed again'),
    ('Decision, map and sub-workflow nodes are carried out by the engine itself',
        'The engine itself carries out conditionals, Maps and sub-workflows'),
    ('Decision, map, wait and sub-workflow nodes are carried out by the engine itself',
        'The engine itself carries out conditionals, Maps, waits and sub-workflows'),
    ('The worker vanished once too often, or its handler outlived its time limit',
        'The worker was lost once too often, or its handler ran longer than its time limit'),
    ('Wait, map and sub-workflow nodes park until what they wait for has come',
        'Waits, Maps and sub-workflows wait until what they wait for has happened'),
    ('What was called off because of a failure waits again when the failed unit is replayed or corrected',
        'What was cancelled because of a failure waits again when the failed unit is replayed or corrected')
) as n (before, after)
where d.reason = n.before;
