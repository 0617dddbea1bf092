#include "choose_options.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "measured_accuracies.hpp"
#include "quantity.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

/// Leaves `out` alone where nothing was given.
template <class T, class Target>
Status read(const std::string& text, std::string_view option,
            Result<T> (*parse)(std::string_view, std::string_view), Target& out) {
  if (text.empty()) return {};
  const Result<T> value = parse(text, option);
  PLIMSOLL_TRY(value);
  out = *value;
  return {};
}

Result<hardware::Arithmetic> arithmetic_of(const std::string& word, std::string_view option) {
  const auto found = hardware::arithmetic_named(word);
  if (found) return *found;
  return std::unexpected(Error{fmt::format("{} is not a precision", quote(word)), std::string(option),
                               "The precisions are fp32, fp16, bf16, tf32, int8, fp8 and fp64."});
}

}  // namespace

void ChooseOptions::add_to(CommandLine& command) {
  command.add_option("model", model, kModelWords)->required()->option_text("MODEL");
  inspect.binding.add_shapes_to(command, inspect.setting);
  add_devices_option(command, devices,
                     "Only these: ids, `this`, or device files (default: the whole catalogue)");
  command.add_option("--depth", depths, "Depth multipliers to consider, as in 0.25,0.5,1")
      ->delimiter(',')
      ->in_range(0.01, 16.0)
      ->option_text("X,…");
  command
      .add_option("--precision,-p", precisions,
                  "Precisions to consider (default: those that each device's runtime runs)")
      ->delimiter(',')
      ->offers({"fp32", "fp16", "bf16", "tf32", "int8", "fp8", "fp64"})
      ->option_text("PRECISION,…");
  command
      .add_option("--accuracy", accuracies,
                  "Accuracy that you measured, used before the catalogue's: int8=84.33%, or 0.25:int8=84.33% "
                  "for one depth; or FILE.json of `plimsoll precision --json`")
      ->option_text("WHAT,…")
      ->delimiter(',');
  const auto limit = [&command](const char* name, std::string& target, const char* help, const char* unit) {
    command.add_option(name, target, help)->option_text(unit)->group("Limits");
  };
  limit("--max-latency", max_latency, "Time of one image, with all its patches: 4.42s", "TIME");
  limit("--max-power", max_power, "Peak power of the board: 5W", "WATTS");
  limit("--max-mass", max_mass, "Mass of the board: 150g", "MASS");
  limit("--max-size", max_size, "Room for the board, in any orientation: 10x70x80mm", "SIZE");
  limit("--max-price", max_price, "Price of renting a machine with it, in $ an hour: 3.06/h", "PRICE");
  limit("--min-accuracy", min_accuracy, "Share of images that it must classify rightly: 90%", "SHARE");
  limit("--max-boot", max_boot, "Time that the board takes to boot: 30s", "TIME");
  command.add_option("--must", musts, "A fact that must hold: updates-in-place")
      ->one_of({"updates-in-place"})
      ->delimiter(',')
      ->option_text("FACT")
      ->group("Limits");
  const auto images_option = [&command](const char* name, auto& target, const char* help, const char* unit) {
    return command.add_option(name, target, help)->option_text(unit)->group("Images");
  };
  images_option("--scene", scene, "An image, cut into patches: WIDTHxHEIGHT", "SIZE");
  images_option("--patch", patch, "Size of a patch: 224, or 224x224 (default: what the network takes)",
                "SIZE");
  images_option("--period", period, "A cycle of imaging, an orbit or a day: 95.65min", "TIME");
  images_option("--images", images, "Images in a cycle; each may take period / images", "N")
      ->in_range(1e-6, 1e12);
  images_option("--bits-per-pixel", bits_per_pixel,
                "Bits of a pixel in a stored image (default: 8 per channel)", "N")
      ->in_range(1e-3, 1e4);
  images_option("--downlink", downlink, "The link that takes images home: 1Mbit/s", "RATE");
  images_option("--relevant", relevant, "Share of patches worth sending: 5%", "SHARE");
  command.add_flag("--all", all, "Show every form on every device, also of devices that a limit rules out");
  command.add_flag("--why", why, "Show every verdict with its figures and their sources");
  auto* as_json = command.add_flag("--json", json, "Print one JSON document");
  command.add_flag("--csv", csv, "Print CSV, in SI base units")->excludes(as_json);
}

Result<plan::Imaging> ChooseOptions::imaging(const NetworkForms& forms) const {
  plan::Imaging out;
  const Result<std::vector<std::int64_t>> shape = forms.image_shape();
  PLIMSOLL_TRY(shape);
  if (!patch.empty() && scene.empty()) return fail("--patch is of use only with --scene, which it cuts");
  if (!scene.empty()) {
    if (shape->empty())
      return fail("{} takes no images, so a scene cannot be cut into patches for it", model);
    const auto whole = parse_size(scene, false, "--scene");
    PLIMSOLL_TRY(whole);
    std::pair part((*shape)[2], (*shape)[1]);
    if (!patch.empty()) {
      const auto given = parse_size(patch, true, "--patch");
      PLIMSOLL_TRY(given);
      if (*given != part)
        return fail("{} takes images of {}x{} pixels, but --patch asks for {}x{}", model, part.first,
                    part.second, given->first, given->second);
    }
    std::tie(out.width, out.height) = *whole;
    std::tie(out.patch_width, out.patch_height) = part;
    if (out.patches() == 0)
      return fail("a patch of {}x{} pixels is larger than the scene of {}", part.first, part.second, scene);
  }
  out.bits_per_pixel = bits_per_pixel > 0 ? bits_per_pixel
                       : shape->empty()   ? 24
                                          : 8.0 * static_cast<double>((*shape)[0]);
  PLIMSOLL_TRY(read(period, "--period", parse_seconds, out.period));
  PLIMSOLL_TRY(read(downlink, "--downlink", parse_bits_per_second, out.bits_per_second));
  PLIMSOLL_TRY(read(relevant, "--relevant", parse_share, out.relevant));
  if (images > 0) out.images = images;
  if (out.images.has_value() != out.period.has_value())
    return fail("--period and --images are of use only together");
  return out;
}

Result<plan::Limits> ChooseOptions::limits(const plan::Imaging& imaging) const {
  plan::Limits out;
  PLIMSOLL_TRY(read(max_latency, "--max-latency", parse_seconds, out.latency));
  if (const auto budget = plan::budget_per_image(imaging); budget && (!out.latency || *budget < *out.latency))
    out.latency = budget;
  PLIMSOLL_TRY(read(max_power, "--max-power", parse_watts, out.power));
  PLIMSOLL_TRY(read(max_mass, "--max-mass", parse_kilograms, out.mass));
  PLIMSOLL_TRY(read(max_size, "--max-size", parse_room, out.size));
  PLIMSOLL_TRY(read(max_price, "--max-price", parse_price, out.price_per_hour));
  PLIMSOLL_TRY(read(max_boot, "--max-boot", parse_seconds, out.boot));
  PLIMSOLL_TRY(read(min_accuracy, "--min-accuracy", parse_share, out.accuracy));
  out.updates_in_place = !musts.empty();
  return out;
}

Result<std::vector<hardware::Arithmetic>> ChooseOptions::arithmetics() const {
  std::vector<hardware::Arithmetic> out;
  for (const std::string& word : precisions) {
    const Result<hardware::Arithmetic> found = arithmetic_of(word, "--precision");
    PLIMSOLL_TRY(found);
    if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
  }
  return out;
}

Status ChooseOptions::add_accuracies(std::vector<plan::Variant>& variants) const {
  for (const std::string& word : accuracies) {
    const auto equals = word.find('=');
    const auto colon = word.find(':');
    if (equals == word.npos && word.ends_with(".json")) {
      PLIMSOLL_TRY(add_measured_accuracies(word, variants));
      continue;
    }
    if (equals == word.npos)
      return std::unexpected(
          Error{fmt::format("{} is not an accuracy", quote(word)), "--accuracy",
                "Write it as int8=84.33% or 0.25:int8=84.33%, or name a file that `plimsoll "
                "precision --json` wrote."});
    const std::size_t begin = colon < equals ? colon + 1 : 0;
    const Result<hardware::Arithmetic> arithmetic =
        arithmetic_of(word.substr(begin, equals - begin), "--accuracy");
    PLIMSOLL_TRY(arithmetic);
    const Result<double> share = parse_share(word.substr(equals + 1), "--accuracy");
    PLIMSOLL_TRY(share);
    double depth = 0;
    if (begin > 0 && std::from_chars(word.data(), word.data() + colon, depth).ptr != word.data() + colon)
      return std::unexpected(Error{fmt::format("{} does not begin with a depth multiplier", quote(word)),
                                   "--accuracy", "Write it as 0.25:int8=84.33%."});
    for (plan::Variant& variant : variants)
      if (begin == 0 || variant.depth == depth)
        variant.accuracies.insert(variant.accuracies.begin(),
                                  {*arithmetic, {*share, Provenance::measured, "given by --accuracy"}});
  }
  return {};
}

}  // namespace plimsoll
