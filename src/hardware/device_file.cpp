#include "hardware/device_file.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <system_error>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "hardware/calibration_file.hpp"
#include "hardware/json_section.hpp"
#include "hardware/sources.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;
using Section = JsonSection;

enum class Dimension : std::uint8_t {
  size,
  rate_of_bytes,
  float_operations,
  integer_operations,
  power,
  mass,
  length,
  time,
  frequency,
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
    {"Hz", Dimension::frequency, 1},
    {"MHz", Dimension::frequency, 1e6},
    {"GHz", Dimension::frequency, 1e9},
    {"1", Dimension::count, 1},
};

std::string units_of(Dimension dimension) {
  std::string list;
  for (const Unit& unit : kUnits)
    if (unit.dimension == dimension) list += fmt::format("{}{}", list.empty() ? "" : ", ", unit.name);
  return list;
}

/// The sources a file declares, by the name its figures use.

enum class Bounds : bool { refused, allowed };

const DeviceFigure* declared_source(Section& section, const Sources& sources) {
  const std::string source = section.required_text("source");
  if (const auto found = sources.find(source); found != sources.end()) return &found->second;
  section.complain("source", fmt::format("\"{}\" is not declared", source), "declare it under \"sources\"");
  return nullptr;
}

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
  DeviceFigure figure;
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
  if (const DeviceFigure* source = declared_source(section, sources)) frame.figure = *source;
  if (bounds == Bounds::allowed)
    if (const std::string bound = section.text("bound"); !bound.empty())
      frame.figure.bound = section.choice("bound", bound, &bound_named, Bound::exact);
  return frame;
}

std::optional<DeviceFigure> read_figure(Section& parent, const std::string& key, Dimension dimension,
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

std::optional<Claim> read_claim(Section& parent, const std::string& key, const Sources& sources) {
  const Json* object = parent.take(key);
  if (object == nullptr || parent.error()) return std::nullopt;
  Section section(*object, parent.place(key), parent.error());
  Claim claim;
  if (const Json* value = section.take("value"); value == nullptr || !value->is_boolean())
    section.complain("value", "is neither true nor false", "leave an unknown fact out");
  else
    claim.holds = value->get<bool>();
  const DeviceFigure* source = declared_source(section, sources);
  section.done();
  if (source == nullptr || parent.error()) return std::nullopt;
  claim.provenance = source->provenance;
  claim.source = source->source;
  claim.date = source->date;
  return claim;
}

std::optional<std::array<DeviceFigure, 3>> read_size(Section& parent, const Sources& sources) {
  const Json* object = parent.take("size");
  if (object == nullptr || parent.error()) return std::nullopt;
  Section section(*object, parent.place("size"), parent.error());
  const Frame frame = read_frame(section, Dimension::length, sources, Bounds::allowed);
  section.done();
  if (!parent.error() && (!frame.value->is_array() || frame.value->size() != 3))
    section.complain("value", "is not a list of three lengths");
  if (parent.error()) return std::nullopt;
  std::array<DeviceFigure, 3> size = {frame.figure, frame.figure, frame.figure};
  for (std::size_t i = 0; i < 3; ++i) size[i].value = checked_value(section, (*frame.value)[i], frame.unit);
  std::ranges::sort(size, std::greater<>(), &DeviceFigure::value);
  return size;
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
    const auto time = read_figure(section, "time", Dimension::time, sources, Bounds::allowed);
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
  board.updates_in_place = read_claim(section, "updates_in_place", sources);
  board.core = section.text("core");
  board.clock = read_figure(section, "clock", Dimension::frequency, sources);
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
  const Sources sources = read_sources(top, Declared::if_any);
  device.memory = read_figure(top, "memory", Dimension::size, sources);
  device.usable_memory = read_figure(top, "usable_memory", Dimension::size, sources);
  device.memory_bandwidth = read_figure(top, "memory_bandwidth", Dimension::rate_of_bytes, sources);
  device.l2_cache = read_figure(top, "l2_cache", Dimension::size, sources);
  device.context_memory = read_figure(top, "context_memory", Dimension::size, sources);
  device.matrix_kernels = read_figure(top, "matrix_kernels", Dimension::size, sources);
  device.convolution_kernels = read_figure(top, "convolution_kernels", Dimension::size, sources);
  device.link = top.text("link");
  device.link_bandwidth = read_figure(top, "link_bandwidth", Dimension::rate_of_bytes, sources);
  device.power = read_figure(top, "power", Dimension::power, sources);
  device.multiprocessors = read_figure(top, "multiprocessors", Dimension::count, sources);
  read_capability(top, device);
  read_peaks(top, sources, device);
  device.board = read_board(top, sources);
  device.calibration = read_calibration(top);
  top.done();
  return device;
}

}  // namespace

Result<Device> parse_device(std::string_view text, std::string_view where) {
  const auto json = parse_strictly(text);
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
  std::string text(kMostJsonBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return std::unexpected(Error{"cannot be read", path.string()});
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_device(text, path.string());
}

}  // namespace plimsoll::hardware
