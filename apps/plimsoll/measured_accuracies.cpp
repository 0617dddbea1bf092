#include "measured_accuracies.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kLargestAnswer = std::size_t{64} << 20;
constexpr std::size_t kMostForms = 10'000;

std::optional<double> share_in(const nlohmann::json& accuracy, const char* key) {
  const auto found = accuracy.find(key);
  if (found == accuracy.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return value >= 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

/// What is wrong with a form, or nothing.
std::string add_form(const nlohmann::json& form, const std::string& source,
                     std::vector<plan::Variant>& variants) {
  if (!form.is_object() || !form.contains("format") || !form["format"].is_string()) return "has no format";
  const auto accuracy = form.find("accuracy");
  if (accuracy == form.end() || accuracy->is_null()) return {};
  const auto arithmetic = hardware::arithmetic_named(form["format"].get_ref<const std::string&>());
  if (!arithmetic)
    return fmt::format("has the format {}", quote(form["format"].get_ref<const std::string&>()));
  if (!accuracy->is_object()) return "has an accuracy that is no object";
  const auto value = share_in(*accuracy, "value"), low = share_in(*accuracy, "low"),
             high = share_in(*accuracy, "high");
  if (!value || !low || !high || *low > *value || *value > *high)
    return "has an accuracy that is no share with its interval";
  std::optional<double> depth;
  if (const auto found = form.find("depth"); found != form.end() && !found->is_null()) {
    if (!found->is_number()) return "has a depth that is no number";
    depth = found->get<double>();
  }
  for (plan::Variant& variant : variants)
    if (!depth || (variant.depth && std::abs(*variant.depth - *depth) < 1e-9))
      variant.accuracies.insert(
          variant.accuracies.begin(),
          {.arithmetic = *arithmetic,
           .share = {.value = *value, .provenance = Provenance::measured, .source = source},
           .data = {},
           .low = low,
           .high = high});
  return {};
}

}  // namespace

Status add_measured_accuracies(const std::filesystem::path& file, std::vector<plan::Variant>& variants) {
  const Result<std::string> text = read_file(file, kLargestAnswer);
  PLIMSOLL_TRY(text);
  const nlohmann::json document = nlohmann::json::parse(*text, nullptr, false);
  const auto wrong = [&](std::string what) {
    return std::unexpected(
        Error{std::move(what), printable(file.string()), "`plimsoll precision … --json` writes such files."});
  };
  if (document.is_discarded() || !document.is_object() || !document.contains("forms") ||
      !document["forms"].is_array() || document["forms"].size() > kMostForms)
    return wrong("holds no measured accuracies");
  std::string data = "the user's data";
  if (const auto found = document.find("data"); found != document.end() && found->is_object() &&
                                                found->contains("path") && (*found)["path"].is_string())
    data = printable((*found)["path"].get_ref<const std::string&>(), 100);
  const std::string source = fmt::format("measured by plimsoll precision on {}", data);
  for (std::size_t i = 0; i < document["forms"].size(); ++i)
    if (const std::string problem = add_form(document["forms"][i], source, variants); !problem.empty())
      return wrong(fmt::format("forms[{}] {}", i, problem));
  return {};
}

}  // namespace plimsoll
