//! Reservations held against caps, whatever they are.

use proptest::prelude::*;

use super::*;

fn spent() -> impl Strategy<Value = Spent> {
    (0..20_000_u64, 0..20_000_u64).prop_map(|(tokens, cost)| Spent {
        tokens,
        cost: Money::micros(cost),
    })
}

fn account() -> impl Strategy<Value = Account> {
    let caps = (
        proptest::option::of(0..100_000_u64),
        proptest::option::of(0..100_000_u64),
    );
    (caps, spent(), spent()).prop_map(|((tokens, cost), spent, reserved)| Account {
        caps: Caps {
            tokens,
            cost: cost.map(Money::micros),
            ..Caps::default()
        },
        spent,
        reserved,
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let price = (0.0..30.0_f64, 0.0..80.0_f64).prop_map(|(input, output)| Price {
        input,
        output,
        ..Price::default()
    });
    (0..5_000_u64, 1..9_000_u64, proptest::option::of(price)).prop_map(|(input, output, price)| {
        Wanted {
            input,
            output,
            price,
        }
    })
}

/// Tells whether an amount more would be within every cap.
fn fits(accounts: &[Account], amount: Spent) -> bool {
    accounts.iter().all(|account| {
        let tokens = account
            .tokens_left()
            .is_none_or(|left| amount.tokens <= left);
        let money = account.money_left().is_none_or(|left| amount.cost <= left);
        tokens && money
    })
}

proptest! {
    #[test]
    fn r25_no_reservation_ever_exceeds_an_ancestors_cap(
        accounts in proptest::collection::vec(account(), 1..6),
        wanted in wanted(),
    ) {
        if let Ok(output) = step(&accounts, &wanted) {
            prop_assert!((1..=wanted.output).contains(&output));
            prop_assert!(fits(&accounts, wanted.amount(output)));
        }
        if let Ok(output) = hand_back(&accounts, &wanted) {
            prop_assert!((1..=HAND_BACK).contains(&output));
            prop_assert!(fits(&accounts, wanted.amount(output)));
        }
    }

    #[test]
    fn r26_after_a_step_there_is_room_to_hand_back(
        mut accounts in proptest::collection::vec(account(), 1..6),
        wanted in wanted(),
    ) {
        if let Ok(output) = step(&accounts, &wanted) {
            let amount = wanted.amount(output);
            for account in &mut accounts {
                account.spent.tokens += amount.tokens;
                account.spent.cost = account.spent.cost.plus(amount.cost);
            }
            prop_assert!(hand_back(&accounts, &wanted).is_ok());
        }
    }
}

#[test]
fn r25_a_cap_on_money_without_a_price_leaves_no_room() {
    let account = Account {
        caps: Caps {
            cost: Some(Money::micros(1_000_000)),
            ..Caps::default()
        },
        spent: Spent::default(),
        reserved: Spent::default(),
    };
    let wanted = Wanted {
        input: 1,
        output: 1,
        price: None,
    };
    assert_eq!(step(&[account], &wanted), Err(Cap::Cost));
    assert_eq!(hand_back(&[account], &wanted), Err(Cap::Cost));
}
