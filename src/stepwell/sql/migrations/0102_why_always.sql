-- Every cause for which a unit does not run has a sentence, and the action that helps: fn_why_not_running and fn_unblock_path.

create table stepwell.why_cause (
    cause text not null,
    action text,
    is_of_run boolean not null default false,
    command text,
    constraint why_cause_pkey primary key (cause),
    constraint cause_is_a_code check (cause ~ '^[a-z_]+([.][a-z]+)?$')
);
comment on table stepwell.why_cause is 'What helps against a cause of fn_why_not_running (code, or code.variant): a call of unit_action on the unit or its run, and a command. Names in braces are facts';

insert into stepwell.why_cause (cause, action, is_of_run, command) values
('ended', null, false, null),
('ended.dead', 'retry', false, 'stepwell jobs retry {number}'),
('write_cap', 'retry', false, 'stepwell tenants caps {workflow} --max-writes-per-run {more}'),
('leased', null, false, null),
('in_progress', 'complete', false, 'stepwell step complete {number}'),
('paused', 'resume', true, 'stepwell runs resume {run}'),
('dependency', null, false, null),
('branch', null, false, null),
('schedule', null, false, null),
('retry', 'retry', false, 'stepwell jobs retry {number}'),
('no_keeper', null, false, 'stepwell keeper'),
('assigned', 'claim', false, 'stepwell step claim {number}'),
('human', 'claim', false, 'stepwell step claim {number}'),
('human.anyone', 'claim', false, 'stepwell step claim {number}'),
('human.parked', 'resume', false, 'stepwell step resume {number}'),
('rate', null, false, null),
('concurrency', null, false, null),
('workflow_cap', null, false, 'stepwell tenants caps {workflow} --max-concurrency {more}'),
('workspace_cap', null, false, 'stepwell tenants workspace {workspace} --max-concurrency {more}'),
('tenant_cap', null, false, 'stepwell tenants set {tenant} --max-concurrency {more}'),
('no_worker', null, false, 'stepwell worker --executor {class}'),
('no_handler', null, false, 'stepwell worker --app APP'),
('locked', null, false, 'select pg_terminate_backend({pid})'),
('queued', null, false, null),
('approval', null, false, 'stepwell approvals approve {approval}'),
('event', 'signal', true, 'stepwell signal {run} {event_type}'),
('event.open', 'signal', true, 'stepwell signal {run} {event_type}'),
('subworkflow', null, false, null),
('items', null, false, null),
('blocked', 'unblock', false, 'stepwell step unblock {number}'),
('receipt', null, false, 'stepwell receipts show {number}'),
('cut', null, false, 'stepwell content cuts --failed'),
('set_aside', null, false, 'stepwell problems list'),
('unexplained', 'cancel', true, 'stepwell runs cancel {run}'),
('hold', null, false, 'stepwell hold release {hold} --reason REASON'),
('frozen', null, false, 'stepwell workers unfreeze {worker} --reason REASON'),
('frozen.executor', null, false, 'stepwell workers unfreeze --executor {class} --reason REASON'),
('drained', null, false, 'stepwell workers undrain {worker} --reason REASON');

insert into stepwell.i18n_text (text_key, lang, text_value)
select 'why.' || t.cause, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('ended.dead', '{name} cannot be completed, and no attempt is left: {reason}.', '{name} không thể hoàn thành và đã hết lượt thử: {reason}.'),
    ('write_cap', '{name} cannot be completed: its run has used all {limit} writes to other systems that its cap allows.',
        '{name} không thể hoàn thành: lượt chạy đã dùng hết {limit} lần ghi ra hệ thống khác mà mức trần cho phép.'),
    ('no_keeper', '{name} was due at {at}, and no keeper runs that could start it.',
        '{name} đến hạn lúc {at}, nhưng không có keeper nào đang chạy để khởi động.'),
    ('workflow_cap', '{name} waits for a slot of workflow {workflow}, at place {place}; at most {limit} of its steps run at once.',
        '{name} chờ một chỗ của quy trình {workflow}, vị trí {place}; tối đa {limit} bước của quy trình này chạy cùng lúc.'),
    ('workspace_cap', '{name} waits for a slot of workspace {workspace}, at place {place}; at most {limit} of its steps run at once.',
        '{name} chờ một chỗ của không gian làm việc {workspace}, vị trí {place}; tối đa {limit} bước trong đó chạy cùng lúc.'),
    ('locked', '{name} can run, but {program} (process {pid} of the database, at work since {since}) has locked it in the queue.',
        '{name} có thể chạy, nhưng {program} (tiến trình {pid} của cơ sở dữ liệu, bắt đầu lúc {since}) đang khóa nó trong hàng đợi.'),
    ('hold', '{name} does not go on because of an incident hold: {reason}.', '{name} không tiếp tục vì lệnh giữ do sự cố: {reason}.'),
    ('frozen', '{name} can run, but every worker that serves executor {class} is frozen.',
        '{name} có thể chạy, nhưng mọi worker phục vụ lớp {class} đang bị đóng băng.'),
    ('frozen.executor', '{name} can run, but executor {class} is frozen: no worker claims its work.',
        '{name} có thể chạy, nhưng lớp {class} đang bị đóng băng: không worker nào nhận việc của lớp này.'),
    ('drained', '{name} can run, but every worker that serves executor {class} finishes its work and claims no more.',
        '{name} có thể chạy, nhưng mọi worker phục vụ lớp {class} đang làm nốt việc và không nhận thêm.')
) as t (cause, en, vi)
cross join (values ('vi'), ('en')) as l (lang);
