//! Values that servers write in different ways, read in all of them.
//!
//! Nothing is gathered that is not wanted: a list of a million odd things takes
//! the time to read it and no memory. What makes no sense counts as not there,
//! because one odd field must not cost a whole answer.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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

            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
                Ok(Text(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
                Ok(Text(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
                Ok(Text(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
                Ok(Text(None))
            }
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

            fn visit_bool<E>(self, _: bool) -> Result<Word, E> {
                Ok(Word(None))
            }

            fn visit_unit<E>(self) -> Result<Word, E> {
                Ok(Word(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut odd: A) -> Result<Word, A::Error> {
                while odd.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Word(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut odd: A) -> Result<Word, A::Error> {
                while odd.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Word(None))
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}
