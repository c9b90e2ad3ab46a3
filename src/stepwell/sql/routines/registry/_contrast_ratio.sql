-- Purpose: contrast ratio of two colours (#RRGGBB) by the WCAG 2.1 formula, rounded to two digits.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing; null when a colour is not written as #RRGGBB.
create or replace function stepwell._contrast_ratio(p_fg text, p_bg text)
returns numeric
language sql
immutable
set search_path = stepwell, pg_temp
as $$
    with channel as (
        select
            c.colour,
            c.weight,
            get_byte(decode(substr(c.code, c.offset_no, 2), 'hex'), 0) / 255.0 as value
        from (
            select
                h.colour,
                h.code,
                w.offset_no,
                w.weight
            from (values (1, p_fg), (2, p_bg)) as h (colour, code)
            cross join (values (2, 0.2126), (4, 0.7152), (6, 0.0722)) as w (offset_no, weight)
            where p_fg ~ '^#[0-9A-Fa-f]{6}$' and p_bg ~ '^#[0-9A-Fa-f]{6}$'
        ) as c
    ),
    luminance as (
        select sum(weight * case when value <= 0.04045 then value / 12.92 else power((value + 0.055) / 1.055, 2.4) end)
            as value
        from channel
        group by colour
    )
    select round((max(value) + 0.05) / (min(value) + 0.05), 2) from luminance;
$$;
