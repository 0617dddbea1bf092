#pragma once
#include <string>
#include <string_view>
#include <vector>

/// What a record must not hold: keys, tokens, passwords. Told by the name that stands before a value and by
/// the shape of the value itself; "***" stands in its place. Rather too much is masked than too little.
namespace plimsoll::running {

/// Whether a variable or option of this name holds what nobody should read.
[[nodiscard]] bool is_secret_name(std::string_view name);
/// The value of that name as it may be kept.
[[nodiscard]] std::string masked(std::string_view name, std::string_view value);
/// A command line with secret options masked: `--api-key X`, `--token=X`, PASSWORD=X; also in the text of a
/// script that is one of its words.
[[nodiscard]] std::vector<std::string> masked_command(const std::vector<std::string>& command);
/// A text of any kind, such as a diff: values of known shapes, and literals that are given to secret names
/// (`api_key = "…"`, `password: …`). Code stays: `key = row[0]`, `token = tokenizer.next()`.
[[nodiscard]] std::string masked_text(std::string_view text);

}  // namespace plimsoll::running
