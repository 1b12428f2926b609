//! What a draft becomes where the system does not let us give it away.
//!
//! Only root can make such files, so what the system says is played.

use super::*;

#[track_caller]
fn check_mode(old: u32, group: Group, list: List, expected: u32) {
    let found = mode(Mode::from_raw_mode(0o100_000 | old), group, list);
    assert_eq!(
        found.as_raw_mode() & 0o7777,
        expected,
        "{old:o} {group:?} {list:?}"
    );
}

#[test]
fn a_file_whose_group_is_ours_now_is_read_by_nobody_who_could_not_before() {
    for (old, expected) in [
        (0o640, 0o600),
        (0o660, 0o600),
        (0o644, 0o644),
        (0o664, 0o644),
        (0o604, 0o600),
        (0o775, 0o755),
        (0o6754, 0o744),
        (0o600, 0o600),
    ] {
        check_mode(old, Group::Ours, List::None, expected);
        check_mode(old, Group::OfTheFile, List::None, old);
        check_mode(old, Group::OfTheFile, List::Carried, old);
    }
    // The bits of the group are those of the list, which was narrowed by itself.
    check_mode(0o2660, Group::Ours, List::Carried, 0o660);
}

#[test]
fn a_file_that_lost_its_list_is_its_owners_alone() {
    check_mode(0o664, Group::OfTheFile, List::Lost, 0o600);
    check_mode(0o6755, Group::Ours, List::Lost, 0o700);
}

#[test]
fn what_a_list_gives_a_group_is_not_given_to_ours() {
    let list = |group: u8, others: u8| {
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, may) in [
            (1, 6),
            (2, 6),
            (4, group),
            (8, 6),
            (0x10, 4),
            (0x20, others),
        ] {
            list.extend([tag, 0, may, 0, 1, 0, 0, 0]);
        }
        list
    };
    for (group, others, both) in [(6, 0, 0), (6, 4, 4), (7, 7, 4), (0, 4, 0)] {
        let mut narrowed = list(group, others);
        narrow(&mut narrowed);
        assert_eq!(narrowed, list(both, both), "{group} {others}");
    }
    for odd in [&mut [][..], &mut [2, 0], &mut [2, 0, 0, 0, 4, 0, 6]] {
        let before = odd.to_vec();
        narrow(odd);
        assert_eq!(odd, before);
    }
}

#[test]
fn a_file_that_could_not_stay_its_owners_is_not_replaced() {
    let nothing = |_: Option<Uid>, _: Option<Gid>| Err(Errno::PERM);
    let groups = |owner: Option<Uid>, _: Option<Gid>| match owner {
        Some(_) => Err(Errno::PERM),
        None => Ok(()),
    };
    let owners = |_: Option<Uid>, group: Option<Gid>| match group {
        Some(_) => Err(Errno::INVAL),
        None => Ok(()),
    };
    let all = |_: Option<Uid>, _: Option<Gid>| Ok(());
    let (same, kept, ours) = ((1, 1), Ok(Group::OfTheFile), Ok(Group::Ours));
    for (old, by_nothing, by_groups, by_owners) in [
        (same, kept, kept, kept),
        ((1, 2), ours, kept, ours),
        ((2, 1), Err(Left::Owner), Err(Left::Owner), kept),
        ((2, 2), Err(Left::Owner), Err(Left::Owner), ours),
    ] {
        assert_eq!(give(same, old, &nothing), by_nothing, "{old:?}");
        assert_eq!(give(same, old, &groups), by_groups, "{old:?}");
        assert_eq!(give(same, old, &owners), by_owners, "{old:?}");
        assert_eq!(give(same, old, &all), kept, "{old:?}");
    }
}
