//! Values that servers write in different ways, read in all of them.
//!
//! Nothing is gathered that is not wanted: a list of a million odd things takes
//! the time to read it and no memory. What makes no sense counts as not there,
//! because one odd field must not cost a whole answer.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Has a visitor take any of these for nothing.
macro_rules! nothing_of {
    ($($visit:ident: $type:ty),* $(,)?) => {
        $(
            fn $visit<E>(self, _: $type) -> Result<Self::Value, E> {
                Ok(Self::Value::default())
            }
        )*

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

/// Has a visitor take whatever is neither a list nor an object for nothing.
macro_rules! nothing_of_scalars {
    () => {
        nothing_of!(
            visit_bool: bool,
            visit_u64: u64,
            visit_i64: i64,
            visit_f64: f64,
            visit_str: &str,
        );
    };
}

/// Has a visitor take a list for nothing.
macro_rules! nothing_of_a_list {
    () => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut odd: A) -> Result<Self::Value, A::Error> {
            while odd.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// Has a visitor take an object for nothing.
macro_rules! nothing_of_a_map {
    () => {
        fn visit_map<A: MapAccess<'de>>(self, mut odd: A) -> Result<Self::Value, A::Error> {
            while odd.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// An object of some form, or nothing where there is something else.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) Option<T>);

/// The objects of a list; none where there is something else.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                let object = T::deserialize(MapAccessDeserializer::new(fields))?;
                Ok(Object(Some(object)))
            }

            nothing_of_scalars!();
            nothing_of_a_list!();
        }

        deserializer.deserialize_any(Fields(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of objects")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(Object(item)) = items.next_element()? {
                    list.extend(item);
                }
                Ok(List(list))
            }

            nothing_of_scalars!();
            nothing_of_a_map!();
        }

        deserializer.deserialize_any(Items(PhantomData))
    }
}

/// A text, or the texts of a list of parts.
#[derive(Debug, Default)]
pub(super) struct Text(Option<String>);

impl Text {
    /// Returns the text, if there is one that is not empty.
    pub(super) fn filled(self) -> Option<String> {
        self.0.filter(|text| !text.is_empty())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Some(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Text, E> {
                Ok(Text(Some(text)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
                let mut joined: Option<String> = None;
                while let Some(Text(part)) = parts.next_element()? {
                    if let Some(part) = part {
                        joined.get_or_insert_default().push_str(&part);
                    }
                }
                Ok(Text(joined))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Text, A::Error> {
                let mut text = Text(None);
                while let Some(key) = part.next_key::<String>()? {
                    if key == "text" {
                        text = part.next_value()?;
                    } else {
                        part.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(text)
            }

            nothing_of!(
                visit_bool: bool,
                visit_u64: u64,
                visit_i64: i64,
                visit_f64: f64,
            );
        }

        deserializer.deserialize_any(Parts)
    }
}

/// A word or a number; `0`, `"0"` and `0.0` are the same.
#[derive(Debug, Default)]
pub(super) struct Word(Option<String>);

impl Word {
    /// Returns the word, if there is one that is not empty.
    pub(super) fn filled(&self) -> Option<&str> {
        self.0.as_deref().filter(|word| !word.is_empty())
    }

    /// Returns the number that it is, if it is one that can count something.
    pub(super) fn number(&self) -> Option<u32> {
        let number: f64 = self.filled()?.parse().ok()?;
        (0.0..=f64::from(u32::MAX))
            .contains(&number)
            .then_some(number as u32)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl<'de> Visitor<'de> for Scalar {
            type Value = Word;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word or a number")
            }

            fn visit_str<E>(self, word: &str) -> Result<Word, E> {
                Ok(Word(Some(word.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Word, E> {
                Ok(Word(Some(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Word, E> {
                Ok(Word(Some(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Word, E> {
                Ok(Word(Some(number.to_string())))
            }

            nothing_of!(visit_bool: bool);
            nothing_of_a_list!();
            nothing_of_a_map!();
        }

        deserializer.deserialize_any(Scalar)
    }
}
