#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll {

struct HelpRow {
  std::string names;  ///< "-b, --batch N,…"
  std::string text;
};

struct HelpSection {
  std::string title;  ///< "Options"
  std::vector<HelpRow> rows;
};

/// What `--help` says of one command, before it is laid out.
struct HelpPage {
  std::string description;
  std::vector<std::string> usage;  ///< one line for each way to call it
  std::vector<HelpSection> sections;
  /// "Examples:", then lines that begin with two spaces, each a command and, after two spaces or more, what
  /// it is for. Lines that begin without a space are sentences.
  std::string footer;
};

/// Fits `width` columns: sentences are broken between words; a long example goes on after a backslash, so
/// that it can be copied as it stands.
[[nodiscard]] std::string to_text(const HelpPage& page, std::size_t width);

}  // namespace plimsoll
