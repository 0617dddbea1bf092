#include "serve/mlflow/run_texts.hpp"

#include <utility>

namespace plimsoll::serve::mlflow {
namespace {

/// With its place in the table, nearly.
std::size_t size_of(const std::string& id, const RunTexts::Text& text) {
  constexpr std::size_t kPlace = 160;
  return kPlace + id.size() + text->size();
}

}  // namespace

void RunTexts::put(const std::string& id, Entry entry) {
  const std::size_t bytes = size_of(id, entry.text);
  if (bytes > most_bytes_ / 2) return;
  if (const auto old = present_.entries.find(id); old != present_.entries.end()) {
    present_.bytes -= size_of(id, old->second.text);
    present_.entries.erase(old);
  }
  if (present_.bytes + bytes > most_bytes_ / 2) before_ = std::exchange(present_, {});
  present_.bytes += bytes;
  present_.entries.emplace(id, std::move(entry));
}

RunTexts::Text RunTexts::find(const std::string& id, std::int64_t version) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = present_.entries.find(id); found != present_.entries.end())
    return found->second.version == version ? found->second.text : nullptr;
  const auto found = before_.entries.find(id);
  if (found == before_.entries.end() || found->second.version != version) return nullptr;
  Text text = found->second.text;
  before_.bytes -= size_of(id, text);
  before_.entries.erase(found);
  put(id, {version, text});
  return text;
}

void RunTexts::keep(const std::string& id, std::int64_t version, Text text) {
  const std::scoped_lock lock(mutex_);
  put(id, {version, std::move(text)});
}

std::size_t RunTexts::bytes() const {
  const std::scoped_lock lock(mutex_);
  return present_.bytes + before_.bytes;
}

}  // namespace plimsoll::serve::mlflow
