#include "hardware/device_file.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kMostDepth = 6;
constexpr std::size_t kMostText = 600;
constexpr std::size_t kMostItems = 200;

enum class Dimension : std::uint8_t {
  size,
  rate_of_bytes,
  float_operations,
  integer_operations,
  power,
  mass,
  length,
  time,
  count
};
struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;
};
constexpr Unit kUnits[] = {
    {"B", Dimension::size, 1},
    {"kB", Dimension::size, 1e3},
    {"MB", Dimension::size, 1e6},
    {"GB", Dimension::size, 1e9},
    {"KiB", Dimension::size, 0x1p10},
    {"MiB", Dimension::size, 0x1p20},
    {"GiB", Dimension::size, 0x1p30},
    {"B/s", Dimension::rate_of_bytes, 1},
    {"MB/s", Dimension::rate_of_bytes, 1e6},
    {"GB/s", Dimension::rate_of_bytes, 1e9},
    {"TB/s", Dimension::rate_of_bytes, 1e12},
    {"FLOP/s", Dimension::float_operations, 1},
    {"GFLOP/s", Dimension::float_operations, 1e9},
    {"TFLOP/s", Dimension::float_operations, 1e12},
    {"OP/s", Dimension::integer_operations, 1},
    {"GOP/s", Dimension::integer_operations, 1e9},
    {"TOP/s", Dimension::integer_operations, 1e12},
    {"W", Dimension::power, 1},
    {"mW", Dimension::power, 1e-3},
    {"kg", Dimension::mass, 1},
    {"g", Dimension::mass, 1e-3},
    {"m", Dimension::length, 1},
    {"mm", Dimension::length, 1e-3},
    {"s", Dimension::time, 1},
    {"ms", Dimension::time, 1e-3},
    {"1", Dimension::count, 1},
};

std::string units_of(Dimension dimension) {
  std::string list;
  for (const Unit& unit : kUnits)
    if (unit.dimension == dimension) list += fmt::format("{}{}", list.empty() ? "" : ", ", unit.name);
  return list;
}

/// Text out of the file for a message: short, and without control characters, since it ends on a terminal.
std::string shown(std::string_view text, std::size_t most = 80) {
  std::string printable(text.substr(0, most));
  for (char& c : printable)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return printable;
}

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
        return refuse(fmt::format("key \"{}\" stands twice", shown(key)));
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

Result<Json> parse_json(std::string_view text) {
  if (text.size() > kMostBytes) return fail("larger than 1 MiB");
  Watch watch;
  try {
    Json parsed = Json::parse(text.begin(), text.end(), std::ref(watch));
    if (!watch.complaint().empty()) return fail("{}", watch.complaint());
    return parsed;
  } catch (const Json::exception& e) {
    std::string_view reason = e.what();  // "[json.exception.parse_error.101] parse error at line 1, …"
    if (const auto end = reason.find("] "); end != reason.npos) reason.remove_prefix(end + 2);
    return fail("not JSON: {}", shown(reason, 200));
  }
}

/// The sources a file declares, by the name its figures use.
using Sources = std::map<std::string, Figure>;

/// Reads one object of the file, key by key. The first error is kept and all later answers are empty, so
/// that the reading code is a list of fields; done() finds the keys that nobody asked for.
class Section {
 public:
  Section(const Json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {
    if (!object_.is_object()) complain("", "is not an object");
  }

  const Json* take(const std::string& key) {
    known_.push_back(key);
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  void complain(std::string_view key, std::string message, std::string hint = {}) {
    if (!error_) error_ = Error{std::move(message), place(key), std::move(hint)};
  }

  [[nodiscard]] std::string place(std::string_view key) const {
    return path_.empty() || key.empty() ? fmt::format("{}{}", path_, key) : fmt::format("{}.{}", path_, key);
  }

  std::string words(const std::string& key, const Json& value) {
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

  std::string text(const std::string& key) {
    const Json* value = take(key);
    return value == nullptr ? std::string() : words(key, *value);
  }

  std::string required_text(const std::string& key) {
    const Json* value = take(key);
    if (value == nullptr) return complain(key, "is missing"), std::string();
    return words(key, *value);
  }

  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least, std::int64_t most) {
    const Json* value = take(key);
    if (value == nullptr) return std::nullopt;
    // Unsigned values beyond 63 bits turn negative here, and are refused as such.
    const auto number = value->is_number_integer() ? value->get<std::int64_t>() : least - 1;
    if (number >= least && number <= most) return number;
    complain(key, fmt::format("is not a whole number from {} to {}", least, most));
    return std::nullopt;
  }

  bool flag(const std::string& key) {
    const Json* value = take(key);
    if (value != nullptr && !value->is_boolean()) complain(key, "is neither true nor false");
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }

  const Json* list(const std::string& key) {
    const Json* value = take(key);
    if (value == nullptr) return nullptr;
    if (value->is_array() && value->size() <= kMostItems) return value;
    complain(key, fmt::format("is not a list of at most {} items", kMostItems));
    return nullptr;
  }

  std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> items;
    if (const Json* value = list(key))
      for (const Json& item : *value) items.push_back(words(key, item));
    return items;
  }

  /// A name out of an enumeration; `fallback` after an error.
  template <class Enum>
  Enum choice(const std::string& key, const std::string& chosen,
              std::optional<Enum> (*named)(std::string_view), Enum fallback) {
    const auto found = named(chosen);
    if (!found) complain(key, fmt::format("\"{}\" is not one of those known", chosen), "see docs/devices.md");
    return found.value_or(fallback);
  }

  void done() {
    if (error_ || !object_.is_object()) return;
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      const auto near = nearest(key, known_, 1);
      complain(shown(key), "is no key of a device file",
               near.empty() ? fmt::format("known here: {}", fmt::join(known_, ", "))
                            : fmt::format("did you mean \"{}\"?", near.front()));
      return;
    }
  }

  [[nodiscard]] std::optional<Error>& error() { return error_; }

 private:
  const Json& object_;
  std::string path_;
  std::optional<Error>& error_;
  std::vector<std::string> known_;
};

enum class Bounds : bool { refused, allowed };

/// One value in SI base units, checked: finite, positive, whole where it is a count.
double checked_value(Section& section, const Json& value, const Unit* unit) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const double scaled = unit == nullptr ? number : number * unit->factor;
  if (!std::isfinite(scaled))
    section.complain("value", "is not a number");
  else if (scaled <= 0)
    section.complain("value", "is not above zero", "leave an unknown figure out");
  else if (unit != nullptr && unit->dimension == Dimension::count && scaled != std::floor(scaled))
    section.complain("value", "is not whole");
  return scaled;
}

/// The source, date, bound and unit that stand beside a value or a list of values.
struct Frame {
  Figure figure;
  const Unit* unit = nullptr;
  const Json* value = nullptr;
};
Frame read_frame(Section& section, Dimension dimension, const Sources& sources, Bounds bounds) {
  Frame frame;
  frame.value = section.take("value");
  if (frame.value == nullptr) section.complain("value", "is missing");
  const std::string unit = section.required_text("unit");
  for (const Unit& known : kUnits)
    if (known.name == unit && known.dimension == dimension) frame.unit = &known;
  if (frame.unit == nullptr)
    section.complain("unit", fmt::format("\"{}\" does not fit", unit),
                     "units that do: " + units_of(dimension));
  const std::string source = section.required_text("source");
  if (const auto found = sources.find(source); found != sources.end())
    frame.figure = found->second;
  else
    section.complain("source", fmt::format("\"{}\" is not declared", source), "declare it under \"sources\"");
  if (bounds == Bounds::allowed)
    if (const std::string bound = section.text("bound"); !bound.empty())
      frame.figure.bound = section.choice("bound", bound, &bound_named, Bound::exact);
  return frame;
}

std::optional<Figure> read_figure(Section& parent, const std::string& key, Dimension dimension,
                                  const Sources& sources, Bounds bounds = Bounds::refused) {
  const Json* object = parent.take(key);
  if (object == nullptr || parent.error()) return std::nullopt;
  Section section(*object, parent.place(key), parent.error());
  Frame frame = read_frame(section, dimension, sources, bounds);
  section.done();
  if (parent.error()) return std::nullopt;
  frame.figure.value = checked_value(section, *frame.value, frame.unit);
  return frame.figure;
}

std::optional<std::array<Figure, 3>> read_size(Section& parent, const Sources& sources) {
  const Json* object = parent.take("size");
  if (object == nullptr || parent.error()) return std::nullopt;
  Section section(*object, parent.place("size"), parent.error());
  const Frame frame = read_frame(section, Dimension::length, sources, Bounds::allowed);
  section.done();
  if (!parent.error() && (!frame.value->is_array() || frame.value->size() != 3))
    section.complain("value", "is not a list of three lengths");
  if (parent.error()) return std::nullopt;
  std::array<Figure, 3> size = {frame.figure, frame.figure, frame.figure};
  for (std::size_t i = 0; i < 3; ++i) size[i].value = checked_value(section, (*frame.value)[i], frame.unit);
  std::ranges::sort(size, std::greater<>(), &Figure::value);
  return size;
}

Sources read_sources(Section& top) {
  Sources sources;
  const Json* object = top.take("sources");
  if (object == nullptr) return sources;
  if (!object->is_object() || object->size() > kMostItems)
    return top.complain("sources", "is not an object"), sources;
  for (const auto& [key, value] : object->items()) {
    Section section(value, "sources." + shown(key), top.error());
    Figure figure;
    figure.provenance = section.choice("provenance", section.required_text("provenance"), &provenance_named,
                                       Provenance::assumed);
    figure.source = section.required_text("source");
    figure.date = section.text("date");
    section.done();
    sources.emplace(key, std::move(figure));
  }
  return sources;
}

std::vector<Latency> read_latencies(Section& board, const Sources& sources) {
  std::vector<Latency> latencies;
  const Json* list = board.list("latencies");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    Section section((*list)[i], fmt::format("{}[{}]", board.place("latencies"), i), board.error());
    Latency latency;
    latency.network = section.required_text("network");
    latency.arithmetic =
        section.choice("precision", section.required_text("precision"), &arithmetic_named, Arithmetic::int8);
    latency.batch = section.whole("batch", 1, 1 << 20).value_or(1);
    latency.conditions = section.text("conditions");
    const auto time = read_figure(section, "time", Dimension::time, sources);
    if (!time)
      section.complain("time", "is missing");
    else
      latency.seconds = *time;
    section.done();
    latencies.push_back(std::move(latency));
  }
  return latencies;
}

std::optional<Board> read_board(Section& top, const Sources& sources) {
  const Json* object = top.take("board");
  if (object == nullptr || top.error()) return std::nullopt;
  Section section(*object, "board", top.error());
  Board board;
  board.mass = read_figure(section, "mass", Dimension::mass, sources, Bounds::allowed);
  board.size = read_size(section, sources);
  board.peak_power = read_figure(section, "peak_power", Dimension::power, sources, Bounds::allowed);
  board.boot_time = read_figure(section, "boot_time", Dimension::time, sources, Bounds::allowed);
  board.framework = section.text("framework");
  for (const std::string& precision : section.texts("precisions"))
    board.precisions.push_back(section.choice("precisions", precision, &arithmetic_named, Arithmetic::int8));
  board.most_at_once = section.whole("most_at_once", 1, 1 << 20);
  board.latencies = read_latencies(section, sources);
  section.done();
  return board;
}

void read_peaks(Section& top, const Sources& sources, Device& device) {
  const Json* object = top.take("peak");
  if (object == nullptr || top.error()) return;
  Section section(*object, "peak", top.error());
  for (int i = 0; i < kArithmetics; ++i) {
    const auto arithmetic = static_cast<Arithmetic>(i);
    const auto dimension =
        arithmetic == Arithmetic::int8 ? Dimension::integer_operations : Dimension::float_operations;
    device.peak[static_cast<std::size_t>(i)] =
        read_figure(section, std::string(name(arithmetic)), dimension, sources);
  }
  section.done();
}

void read_capability(Section& top, Device& device) {
  const std::string text = top.text("compute_capability");
  if (text.empty()) return;
  const auto dot = text.find('.');
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 && part.find_first_not_of("0123456789") == part.npos;
  };
  if (dot == text.npos || !digits(text.substr(0, dot)) || !digits(text.substr(dot + 1)))
    return top.complain("compute_capability", "is not of the form \"9.0\"");
  device.compute_capability =
      nvml::ComputeCapability{std::stoi(text.substr(0, dot)), std::stoi(text.substr(dot + 1))};
}

void read_id(Section& top, Device& device) {
  device.id = top.required_text("id");
  const bool plain = device.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == device.id.npos;
  if (!plain || device.id.starts_with('-') || device.id.ends_with('-') || device.id.size() > 64)
    top.complain("id", "is not made of lower-case letters, digits and single hyphens inside");
  if (device.id == "this") top.complain("id", "\"this\" is the machine at hand");
}

Device read_device(Section& top) {
  Device device;
  if (const Json* version = top.take("version"); version == nullptr || *version != 1)
    top.complain("version", "is not 1", "this Plimsoll reads device files of \"version\": 1");
  read_id(top, device);
  device.name = top.required_text("name");
  device.vendor = top.required_text("vendor");
  device.kind = top.choice("kind", top.required_text("kind"), &device_kind_named, DeviceKind::gpu);
  device.aliases = top.texts("aliases");
  device.reported_names = top.texts("reported_names");
  if (const auto year = top.whole("year", 1940, 2200)) device.year = static_cast<int>(*year);
  device.well_known = top.flag("well_known");
  device.notes = top.texts("notes");
  const Sources sources = read_sources(top);
  device.memory = read_figure(top, "memory", Dimension::size, sources);
  device.usable_memory = read_figure(top, "usable_memory", Dimension::size, sources);
  device.memory_bandwidth = read_figure(top, "memory_bandwidth", Dimension::rate_of_bytes, sources);
  device.l2_cache = read_figure(top, "l2_cache", Dimension::size, sources);
  device.link = top.text("link");
  device.link_bandwidth = read_figure(top, "link_bandwidth", Dimension::rate_of_bytes, sources);
  device.power = read_figure(top, "power", Dimension::power, sources);
  device.multiprocessors = read_figure(top, "multiprocessors", Dimension::count, sources);
  read_capability(top, device);
  read_peaks(top, sources, device);
  device.board = read_board(top, sources);
  top.done();
  return device;
}

}  // namespace

Result<Device> parse_device(std::string_view text, std::string_view where) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(Error(json.error()).within(where));
  std::optional<Error> error;
  Section top(*json, "", error);
  Device device = read_device(top);
  if (error) return std::unexpected(std::move(*error).within(where));
  return device;
}

Result<Device> load_file(const std::filesystem::path& path) {
  std::error_code code;
  // Anything but a plain file could block or never end.
  if (!std::filesystem::is_regular_file(path, code))
    return std::unexpected(
        Error{"no such file", path.string(), "a device file is JSON: see docs/devices.md"});
  std::ifstream in(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return std::unexpected(Error{"cannot be read", path.string()});
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_device(text, path.string());
}

}  // namespace plimsoll::hardware
