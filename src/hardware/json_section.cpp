#include "hardware/json_section.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 6;
constexpr std::size_t kMostText = 600;
constexpr std::size_t kMostItems = 200;

/// The library's parser accepts keys that stand twice, and any depth: this watches over both.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      // The subtree is dropped and the error kept: nothing deep is ever built.
      if (depth >= kMostDepth) return refuse(fmt::format("nested deeper than {} levels", kMostDepth));
      if (event == Event::object_start) keys_[depth].clear();
    }
    if (event == Event::key && parsed.is_string()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_[depth - 1].insert(key).second)
        return refuse(fmt::format("key \"{}\" stands twice", printable(key, 80)));
    }
    return true;
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  bool refuse(std::string why) {
    if (complaint_.empty()) complaint_ = std::move(why);
    return false;
  }
  std::map<int, std::set<std::string>> keys_;
  std::string complaint_;
};

}  // namespace

Result<Json> parse_strictly(std::string_view text) {
  if (text.size() > kMostJsonBytes) return fail("larger than 4 MiB");
  Watch watch;
  try {
    Json parsed = Json::parse(text.begin(), text.end(), std::ref(watch));
    if (!watch.complaint().empty()) return fail("{}", watch.complaint());
    return parsed;
  } catch (const Json::exception& e) {
    std::string_view reason = e.what();  // "[json.exception.parse_error.101] parse error at line 1, …"
    if (const auto end = reason.find("] "); end != reason.npos) reason.remove_prefix(end + 2);
    return fail("not JSON: {}", printable(reason, 200));
  }
}

JsonSection::JsonSection(const Json& object, std::string path, std::optional<Error>& error)
    : object_(object), path_(std::move(path)), error_(error) {
  if (!object_.is_object()) complain("", "is not an object");
}

const JsonSection::Json* JsonSection::take(const std::string& key) {
  known_.push_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

void JsonSection::complain(std::string_view key, std::string message, std::string hint) {
  if (!error_) error_ = Error{std::move(message), place(key), std::move(hint)};
}

std::string JsonSection::place(std::string_view key) const {
  return path_.empty() || key.empty() ? fmt::format("{}{}", path_, key) : fmt::format("{}.{}", path_, key);
}

std::string JsonSection::words(const std::string& key, const Json& value) {
  if (!value.is_string()) return complain(key, "is not text"), std::string();
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) return complain(key, "is empty"), std::string();
  if (text.size() > kMostText)
    return complain(key, fmt::format("is longer than {} bytes", kMostText)), std::string();
  // Names end up on terminals: no escape sequences.
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return complain(key, "has control characters"), std::string();
  return text;
}

std::string JsonSection::text(const std::string& key) {
  const Json* value = take(key);
  return value == nullptr ? std::string() : words(key, *value);
}

std::string JsonSection::required_text(const std::string& key) {
  const Json* value = take(key);
  if (value == nullptr) return complain(key, "is missing"), std::string();
  return words(key, *value);
}

std::optional<std::int64_t> JsonSection::whole(const std::string& key, std::int64_t least,
                                               std::int64_t most) {
  const Json* value = take(key);
  if (value == nullptr) return std::nullopt;
  // Unsigned values beyond 63 bits turn negative here, and are refused as such.
  const auto number = value->is_number_integer() ? value->get<std::int64_t>() : least - 1;
  if (number >= least && number <= most) return number;
  complain(key, fmt::format("is not a whole number from {} to {}", least, most));
  return std::nullopt;
}

bool JsonSection::flag(const std::string& key) {
  const Json* value = take(key);
  if (value != nullptr && !value->is_boolean()) complain(key, "is neither true nor false");
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

const JsonSection::Json* JsonSection::list(const std::string& key) {
  const Json* value = take(key);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= kMostItems) return value;
  complain(key, fmt::format("is not a list of at most {} items", kMostItems));
  return nullptr;
}

std::vector<std::string> JsonSection::texts(const std::string& key) {
  std::vector<std::string> items;
  if (const Json* value = list(key))
    for (const Json& item : *value) items.push_back(words(key, item));
  return items;
}

void JsonSection::done() {
  if (error_ || !object_.is_object()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    const auto near = nearest_names(key, known, 1);
    complain(printable(key, 80), "is not a known key",
             near.empty() ? fmt::format("known here: {}", fmt::join(known_, ", "))
                          : fmt::format("Did you mean \"{}\"?", near.front()));
    return;
  }
}

}  // namespace plimsoll::hardware
