#include "estimate/memory/trace.hpp"

#include <unordered_map>

#include <nlohmann/json.hpp>

namespace plimsoll::estimate {
namespace {

using nlohmann::json;

std::optional<std::int64_t> whole(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer() || *it < 0) return std::nullopt;
  return it->get<std::int64_t>();
}

std::string text(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Status read_event(const json& row, std::size_t number, AllocationTrace& trace,
                  std::optional<std::int64_t>& stream) {
  const bool shaped = row.is_array() && row.size() >= 3 && row[0].is_string() &&
                      row[1].is_number_unsigned() && row[2].is_number_integer();
  if (!shaped) return fail("event {} is not [action, address, bytes, stream]", number);
  const std::string& action = row[0].get_ref<const std::string&>();
  const auto address = row[1].get<std::uint64_t>();
  const auto bytes = row[2].get<std::int64_t>();
  if (bytes < 0) return fail("event {} has a negative size", number);
  if (action == "segment_alloc") {
    trace.segments.push_back(address);
    return {};
  }
  if (action != "alloc" && action != "free") return {};  // what the replay finds out for itself
  if (row.size() > 3 && row[3].is_number_integer()) {
    const auto on = row[3].get<std::int64_t>();
    if (stream && *stream != on) return fail("event {} is of a second stream; a replay follows one", number);
    stream = on;
  }
  trace.events.push_back({action == "alloc", address, bytes});
  return {};
}

}  // namespace

Result<AllocationTrace> read_trace(std::string_view contents) {
  const json document = json::parse(contents, nullptr, false);
  if (document.is_discarded() || !document.is_object())
    return fail("this is not the JSON document of a trace");
  const auto version = whole(document, "version");
  if (version != 1)
    return fail("this trace is of version {}, and 1 is what can be read", version.value_or(0));
  const auto events = document.find("events");
  if (events == document.end() || !events->is_array()) return fail("this trace has no list of events");
  AllocationTrace trace;
  trace.events.reserve(events->size());
  std::optional<std::int64_t> stream;
  for (std::size_t i = 0; i < events->size(); ++i)
    if (const Status read = read_event((*events)[i], i, trace, stream); !read)
      return std::unexpected(read.error());
  if (const auto settings = document.find("settings"); settings != document.end() && settings->is_object()) {
    if (const auto it = settings->find("expandable_segments"); it != settings->end() && it->is_boolean())
      trace.expandable_segments = it->get<bool>();
    trace.max_split_size = whole(*settings, "max_split_size").value_or(-1);
  }
  trace.peak_allocated = whole(document, "peak_allocated_bytes");
  trace.peak_reserved = whole(document, "peak_reserved_bytes");
  trace.reserved_before = whole(document, "reserved_before_bytes").value_or(0);
  trace.device = text(document, "device");
  trace.torch = text(document, "torch");
  return trace;
}

AllocatorSettings settings_of(const AllocationTrace& trace) {
  AllocatorSettings settings;
  settings.options.expandable_segments = trace.expandable_segments;
  if (trace.max_split_size > 0) settings.options.max_split_size = trace.max_split_size;
  return settings;
}

TraceReplay replay(const AllocationTrace& trace, const AllocatorSettings& settings) {
  CachingAllocator allocator(settings);
  if (!settings.options.expandable_segments) allocator.place_segments(trace.segments);
  std::unordered_map<std::uint64_t, CachingAllocator::Handle> live;
  TraceReplay result;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const auto& event = trace.events[i];
    if (!event.allocates) {
      const auto it = live.find(event.address);
      if (it == live.end()) {
        ++result.unmatched_frees;
        continue;
      }
      allocator.free(it->second);
      live.erase(it);
      continue;
    }
    const std::int64_t before = allocator.peak_allocated();
    const auto handle = allocator.allocate(event.bytes);
    if (!handle) {
      result.failed = i;
      break;
    }
    if (allocator.peak_allocated() > before) result.peak_event = i;
    live.insert_or_assign(event.address, *handle);
  }
  result.peak_allocated = allocator.peak_allocated();
  result.peak_reserved = allocator.peak_reserved();
  return result;
}

}  // namespace plimsoll::estimate
