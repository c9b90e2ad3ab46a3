-- Names of principals: how they are written, and when two of them are the same or look the same. Nothing here depends on
-- the collation of the database. The letters are those of Latin, Greek and Cyrillic; in other scripts upper and lower
-- case do not exist, or their letters are compared as they are.

-- A name as it is stored: composed (NFKC), without space around it, one space between words.
create or replace function stepwell._name_tidy(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select btrim(regexp_replace(normalize(p_name, nfkc), ' +', ' ', 'g'))
$$;

-- What is wrong with a name, in words; null when nothing is. Characters that nobody sees, or that change the direction of
-- what follows, make one name look like another. A colon separates the channel from the name.
create or replace function stepwell._name_problem(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select case
        when coalesce(length(stepwell._name_tidy(p_name)), 0) not between 1 and 200 then '1 to 200 characters are accepted'
        when p_name ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]' then 'control characters are not accepted'
        when p_name ~ '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\U000E0000-\U000E0FFF]'
            then 'characters that cannot be seen, or that change the direction of the text, are not accepted'
        when stepwell._name_tidy(p_name) like '%:%' then 'a colon is not accepted'
        when stepwell._name_fold(p_name) in ('engine', 'system', 'keeper', 'everybody')
            then 'the name is reserved'
    end
$$;

-- The form of a name by which it is compared: tidy, in lower case.
create or replace function stepwell._name_fold(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select normalize(replace(translate(lower(normalize(stepwell._name_tidy(p_name), nfkd) collate "C"),
        'ÆÐØÞĐĦŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾ'
        || 'ϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔ'
        || 'ԖԘԚԜԞԠԢԤԦԨԪԬԮẞỺỼỾ',
        'æðøþđħłŋœŧɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼ'
        || 'ͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕ'
        || 'ԗԙԛԝԟԡԣԥԧԩԫԭԯßỻỽỿ'),
        'ß', 'ss'), nfkc)
$$;

-- What a name looks like: letters that look alike become one letter, whatever their script. Two names with the same
-- skeleton cannot be told apart by eye. Marks above and below letters stay, because they make different names.
create or replace function stepwell._name_skeleton(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select replace(stepwell._name_fold(translate(normalize(stepwell._name_tidy(p_name), nfkd),
        'АВЕЅІЈКМНОРСТУХҮԚԜӀЗԌҺавеѕіјкмнорстухүԛԝӏзԍһгпьԁѵћΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿαβγεζηικνορσςτυχωϲμıɑɡɩɪᴀʙᴄᴅᴇɢʜᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡ'
        || 'ʏᴢƄƅI1|0‐‑‒–—−’‘ʼ',
        'abesljkmhopctyxyqwl3ghabesijkmhopctyxyqwl3ghrnbdvhabezhlkmnoptyxcjabyezniknopoctuxwcuiagiiabcdeghjklmnoprstuvw'
        || 'yzbblllo------''''''')),
        'rn', 'm')
$$;

-- The name of an actor as it is compared, without the channel they came by: `cli:ada`, `slack:Ada` and `ada` are one
-- person. No name has a colon, so the channel is always told apart.
create or replace function stepwell._actor_plain(p_actor text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select stepwell._name_fold(substr(p_actor, coalesce(length(stepwell._actor_channel(p_actor)) + 2, 1)))
$$;

-- The channel by which an actor came: the command line, the API, a page, Slack, an agent. Null when none is named.
create or replace function stepwell._actor_channel(p_actor text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select substring(p_actor from '^(cli|api|client|web|ui|slack|mcp|hook):')
$$;
