#include "hardware/sources.hpp"

#include "base/printable.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::size_t kMostSources = 200;

}  // namespace

Sources read_sources(JsonSection& top, Declared declared) {
  Sources sources;
  const JsonSection::Json* object = top.take("sources");
  if (object == nullptr && declared == Declared::if_any) return sources;
  if (object == nullptr || !object->is_object() || object->size() > kMostSources)
    return top.complain("sources", "is not an object"), sources;
  for (const auto& [key, value] : object->items()) {
    JsonSection section(value, "sources." + printable(key, 80), top.error());
    DeviceFigure figure;
    figure.provenance = section.choice("provenance", section.required_text("provenance"), &provenance_named,
                                       Provenance::assumed);
    figure.source = section.required_text("source");
    figure.date = section.text("date");
    section.done();
    sources.emplace(key, std::move(figure));
  }
  return sources;
}

}  // namespace plimsoll::hardware
