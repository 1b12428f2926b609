//! What goes with the text of a message: pictures, files, links.
//!
//! No event has the bytes of an attachment: `assetId` names the blob of the session
//! that has them, by its SHA-256.

use offshoot_types::content::Part;
use serde::Serialize;

/// One attachment of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Attachment {
    /// A picture or a file whose bytes the session keeps.
    Blob {
        asset_id: String,
        mime_type: String,
        byte_length: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
    },
    /// A file that stays where it is.
    File { path: String, display_name: String },
    /// Ours: something that is found by its address.
    Resource {
        uri: String,
        display_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Attachment {
    /// Returns the attachment that a part is; `None` of text.
    pub fn of(part: &Part) -> Option<Self> {
        Some(match part {
            Part::Text(_) => return None,
            Part::Image(attached) | Part::File(attached) => Self::Blob {
                asset_id: format!("sha256:{}", attached.digest),
                mime_type: attached.media_type.clone(),
                byte_length: attached.bytes,
                display_name: attached.name.clone(),
            },
            Part::FileReference(file) => Self::File {
                path: file.path.clone(),
                display_name: file.path.clone(),
            },
            Part::ResourceLink(link) => Self::Resource {
                uri: link.uri.clone(),
                display_name: link.title.clone().unwrap_or_else(|| link.name.clone()),
                mime_type: link.media_type.clone(),
            },
        })
    }
}
