-- Release 15 knows no version: it compares the digests of its own files with this table. As long as release 15 is
-- supported, it finds them here, so that its servers stay ready, its workers can start, and its `callboard migrate`
-- changes nothing.
CREATE TABLE callboard.schema_files (
    name       text PRIMARY KEY,
    digest     text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE callboard.schema_files IS 'Read by release 15 only: the files of its schema. The files of this release are in applied_files.';

INSERT INTO callboard.schema_files (name, digest) VALUES
    ('migrations/0001_tasks', 'ff4b186e01ef1d92663e62edeff18455e2fe922a56998a2b5d5d9184d56cacab'),
    ('migrations/0002_dramatiq', '0c6c04b5f55990c6dc0b492359252acd5110110db8d0d61824e13c02ade11d69'),
    ('migrations/0003_contents', '315beb6a7af0ccc8c0882d30d5772c99e23f6105d079f90bfe35a8ed2812758f'),
    ('migrations/0004_gates', '2be7db71b2cf7f520d27d33f4654833916e96346181da245a95e31bb56347f38'),
    ('migrations/0007_control', '9378bcb2d5577a84ab389e8f42484f8fe7ebaf59157cb7676c34c9112fd36bac'),
    ('migrations/0010_prompts', '4cb18e5fc6d3278b567c63aa27b9263c7bd064cccf863502128e316c8dfd6c25'),
    ('migrations/0011_types', 'e1cf084419c466d4a2a4cff11d1260a904280383a562032184d8c6c17ff9e657'),
    ('migrations/0012_fair_key', 'c802cd7de7d80713a3f0aba1b60c3a7eca3f021b5dd323eedbef81d8c060d9f3'),
    ('migrations/0013_dear_key', 'be1a4eadd664af9f4a75fe7b4a171968ee5a10920a14ca5d542fb4e68f87d7b3'),
    ('migrations/0014_progress', '33fb2d3597bc810d7326a0ffe1fbe2eabacebb19f4a68c4d09af3c39d53e4211'),
    ('migrations/0015_reports', '50755a78fb059f6b4b378c61c16e5864988f31bcdeae2c546179bad5c541321b'),
    ('functions/claim', 'b158a5ce12f83ebbed61794094441030a00643171729c4e971f67eb8e9cbce73'),
    ('functions/dead_letter_fits', 'd7eba7491192f67bed5b26532969dfaef51500ce3eb39c407748b39bebd2420f'),
    ('functions/dismiss', '1f90a1eddf1eb8b4acc6900b3ab7c9174a7426b04dc01b3f151981f2dc7960fd'),
    ('functions/entry_rank', 'e9e9f46e5c39250f51b7a45543bd0e7ac4e97144e7a4b7ad93d460077d7f556a'),
    ('functions/gate_room', 'c8a3fc606013f43a8e3d0030a0aae7c48e7abd1675fdc8aa73333a6ce981c368'),
    ('functions/guard_moves', 'af692c5be5cf5961e510e5b303b81decd479e1288dac6a7832b20b07132f5c0c'),
    ('functions/judge_breaker', '6a54242802a76006d229d909c84e262fca73247e5448342ef02462669b8b0099'),
    ('functions/line_at', 'dc6d2bc863077e51192409f89dc61e02d43618579a9abc10c158723bd3ab26a3'),
    ('functions/park_behind', '7f18b3eda99f40222d7ba841a9a75b2e0bcc2624a3a636d3a48227288712df62'),
    ('functions/pass_gates', '1f05a72d2edc6c80a692ac28f733fd74a21933896351018ad53bb2a7496ce099'),
    ('functions/report', 'f936f37b298ece168961e1b151807dd723d249e19907d5789e63c8329ddf11cf'),
    ('functions/revive', '443ecd984e389ba0233b9b97476da9f3a3b7dedebd8141f603f296bf0f27571a'),
    ('functions/settle', '7ed2af910331a10357e98154d90b490f418add797d268ca1780449aa54d8c7ee'),
    ('functions/take_slots', '70d4bfdbb75afc88cbbdaf01c2d00e0d98d2da4f91cc7dfd2e01341cb812c0ad'),
    ('functions/target_turn', '2f26b6c9cdf6d0f84bd93b743a568451fcde53ffe74a38c8686d37039c4891d8'),
    ('functions/wake', '934b58dca784ac65314ea8bafe01e9fb6cc8238807a64f641321a698b57b2416'),
    ('functions/wake_lines', '93f806b0d5d4d7c8de4722977e1412af3fd026dda473d55ad73ad0bf450972f5'),
    ('functions/why_waiting', 'c4fbba82b1cd36a8dddec960c3b84846c59221c8bad2c1e3f2ce583d2073dcd7'),
    ('views/dead_letters', '2e22adacc2711a33978420f63c183b37cc434acc6d3b4b47ac1a379ffe5a65d6'),
    ('views/errors_by_actor', 'f60b110814296f6b2a10830310386aa89353bc4e8e8cb4881dd622aa5b02f307'),
    ('views/gates', '60e3deeef620400c3a00793ad8e508d7f49756d6ee6c80b872d87ed7a62dbfca'),
    ('views/invariants', 'cb004e61ab787d5350d36db6424d1af1a661de9cfa3dc5fa3f3d25c66e584dae'),
    ('views/queue_status', '41b5be623b0c907fdd26c45ce3aa1bea699e485c371de9761c82f033cfe0526c'),
    ('views/slow_tasks', '1fc9d58b807799aa9165120288420f18967f6d92e0c23bc66e4d74fd9c97ee55'),
    ('views/targets', 'b4d670f0e4dbb038c48bbc4a0f8ee58d4f379372388617e8e0b470f0b375f923'),
    ('views/tasks', 'cdf568fe41650dfbb74f0214ea072549d22f639eddf5caac853a6037eca1ee26'),
    ('views/why_waiting', 'eac02e7a077421092442482a89a0a6ff01670a9d7da0c107160c7551e864f084'),
    ('views/workers', 'ede3d0df801763f93c79be4106350bb79fd7d6bc75e63d539948edad251eb5bb');
