//! A lesson for a learning platform: the page, the lesson and a manifest in one
//! archive, as SCORM 1.2 wants it. What is reported is said by the page
//! (`www/js/lesson/platform.js`).

mod zip;

use std::io::{self, Write};

use servent_sim::lesson::Lesson;

pub(crate) use self::zip::ZipArchive;

/// The lesson inside the archive.
const LESSON: &str = "lesson.toml";
/// Where a platform begins: the page, told that it is inside one and which lesson it is.
const START: &str = "index.html?platform&amp;lesson=lesson.toml";

/// Writes the package of a lesson: its text, and the files of the page.
///
/// # Errors
/// What cannot be written.
pub(crate) fn write_package<W: Write>(
    into: W,
    lesson: &Lesson,
    text: &str,
    page: &[(&str, &[u8])],
) -> io::Result<W> {
    let mut archive = ZipArchive::new(into);
    let names = page.iter().map(|(name, _)| *name).chain([LESSON]);
    archive.add("imsmanifest.xml", manifest(lesson, names).as_bytes())?;
    archive.add(LESSON, text.as_bytes())?;
    for (name, bytes) in page {
        archive.add(name, bytes)?;
    }
    archive.finish()
}

/// What a platform reads first: one lesson, where it begins, and every file.
fn manifest<'a>(lesson: &Lesson, names: impl Iterator<Item = &'a str>) -> String {
    let (id, title) = (escape(&lesson.id), escape(&lesson.title));
    let files: String =
        names.map(|name| format!("      <file href=\"{}\"/>\n", escape(name))).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="servent-{id}" version="1.0"
    xmlns="http://www.imsproject.org/xsd/imscp_rootv1p1p2"
    xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2">
  <metadata>
    <schema>ADL SCORM</schema>
    <schemaversion>1.2</schemaversion>
  </metadata>
  <organizations default="course">
    <organization identifier="course">
      <title>{title}</title>
      <item identifier="lesson" identifierref="page">
        <title>{title}</title>
      </item>
    </organization>
  </organizations>
  <resources>
    <resource identifier="page" type="webcontent" adlcp:scormtype="sco" href="{START}">
{files}    </resource>
  </resources>
</manifest>
"#
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_the_lesson_and_every_file_and_escapes_both() {
        let text =
            servent_sim::lesson::ALL[0].replacen("Why no client", "Why <\\\"no client\\\"> &", 1);
        let lesson = Lesson::parse(&text).unwrap();
        let said = manifest(&lesson, ["index.html", "js/a&b.js"].into_iter());
        assert!(said.contains("<title>Why &lt;&quot;no client&quot;&gt; &amp; may ask"), "{said}");
        assert!(said.contains("<file href=\"js/a&amp;b.js\"/>"), "{said}");
        assert!(said.contains("identifier=\"servent-polling-windows\""), "{said}");
        let whole = write_package(Vec::new(), &lesson, &text, &[("index.html", b"<p>")]).unwrap();
        assert!(whole.starts_with(b"PK\x03\x04") && whole.len() > 500);
    }
}
