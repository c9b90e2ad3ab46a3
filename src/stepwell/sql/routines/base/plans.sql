-- How the hot functions are planned. A worker's calls, and the newest runs in a list, are always the same, and run on tables whose statistics say
-- little while they are young, so that these functions use one plan for all calls: nested loops over indexes.
-- Decision 0010 has the measurements.
--
-- How a function is read does not depend on its caller either: with standard_conforming_strings = off, which every role can
-- set, the patterns of redaction, of rules and of names would mean something else.

-- Gives these settings to the functions that need them. Runs after every change of the routines, since replacing a function
-- removes its settings.
-- Locks: catalog rows.
-- Idempotency: yes.
create or replace function stepwell._plans_apply() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_function record;
    v_setting text;
begin
    for v_function in
        select f.oid::regprocedure as name
        from pg_proc as f
        where f.pronamespace = 'stepwell'::regnamespace and f.proname in (
            '_must_apply', 'fn_job_cancel', 'fn_job_claim', 'fn_job_enqueue', 'fn_job_report', 'fn_leases_recover',
            'fn_run_cancel', 'fn_run_pause', 'fn_run_resume', 'fn_run_start', 'fn_run_start_here', 'fn_signal',
            '_runs_newest', '_state_change', 'fn_timers_fire', 'fn_worker_close')
    loop
        foreach v_setting in array array['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_hashjoin = off',
            'enable_mergejoin = off', 'random_page_cost = 0.01', 'join_collapse_limit = 1', 'jit = off'] loop
            execute format('alter function %s set %s', v_function.name, v_setting);
        end loop;
    end loop;
    for v_function in
        select f.oid::regprocedure as name
        from pg_proc as f
        where f.pronamespace = 'stepwell'::regnamespace and f.prosrc like '%' || chr(92) || chr(92) || '%'
    loop
        execute format('alter function %s set standard_conforming_strings = on', v_function.name);
    end loop;
end
$$;
