#include "serve/dashboard/orders.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestWord = 200;
constexpr int kDeepest = 8;
constexpr std::size_t kMostJobs = 200;

std::unexpected<Error> wrong(std::string text, std::string hint = {}) {
  return std::unexpected(Error{std::move(text), {}, std::move(hint)});
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Names of devices, precisions, ways of sharing: nothing that could be a path or another option.
bool is_word(std::string_view text) {
  constexpr std::string_view kMarks = "-_.,:=+";
  return !text.empty() && text.size() <= kLongestWord && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(
             text, [&](char c) { return is_letter(c) || is_digit(c) || kMarks.find(c) != kMarks.npos; });
}

/// "450GB/s": of all texts with a slash only a rate is none of a path.
bool is_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && is_digit(text.front()) &&
         text.find('/', slash + 1) == text.npos &&
         std::ranges::all_of(text.substr(0, slash),
                             [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == ' '; }) &&
         std::ranges::all_of(text.substr(slash + 1), is_letter) && slash + 1 < text.size();
}

Result<Json> parse(std::string_view body) {
  int deepest = 0;
  Json out = Json::parse(
      body,
      [&](int depth, Json::parse_event_t, const Json&) {
        deepest = std::max(deepest, depth);
        return depth <= kDeepest;
      },
      false);
  if (out.is_discarded() || !out.is_object() || deepest > kDeepest)
    return wrong("the body is no JSON object of this call");
  return out;
}

std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

/// Names of files and of programs' own things are not for strangers: what a description of workloads says is
/// held against that, wherever it stands. Names of models that were dropped become their paths.
Status check_texts(Json& json, std::string_view key, UploadedModels& models) {
  if (json.is_object()) {
    for (auto& [name, value] : json.items()) PLIMSOLL_TRY(check_texts(value, name, models));
    return {};
  }
  if (json.is_array()) {
    for (Json& value : json) PLIMSOLL_TRY(check_texts(value, key, models));
    return {};
  }
  if (!json.is_string()) return {};
  const std::string text = json.get<std::string>();
  if (key == "model") {
    Result<std::string> word = model_word(text, models);
    if (!word) return std::unexpected(std::move(word).error());
    json = *std::move(word);
    return {};
  }
  if (key == "command" || key == "name" || key == "user") return {};  // told, never read or run, here
  const bool plain = text.size() <= kLongestWord && text.find("..") == text.npos &&
                     text.find(".py") == text.npos && (text.find('/') == text.npos || is_rate(text)) &&
                     !text.starts_with('-') && !text.starts_with('~') && text.find('\0') == text.npos;
  if (plain) return {};
  return wrong(fmt::format("{}: {} is nothing that can be asked from the page", quote(key), quote(text)),
               "Files can be named on the command line alone.");
}

/// A member of the body and the option that it becomes.
struct Option {
  enum class Kind { word, number, whole, flag, words, quantity };
  std::string_view member, option;
  Kind kind = Kind::word;
  std::string_view unit = {};  ///< behind a quantity
  double scale = 1;
};

Status add_option(std::vector<std::string>& words, const Json& body, const Option& option) {
  const auto found = body.find(option.member);
  if (found == body.end() || found->is_null()) return {};
  const Json& value = *found;
  const auto bad = [&] { return wrong(fmt::format("{} has a value that cannot be", quote(option.member))); };
  switch (option.kind) {
    case Option::Kind::flag:
      if (!value.is_boolean()) return bad();
      if (value.get<bool>()) words.emplace_back(option.option);
      return {};
    case Option::Kind::whole: {
      if (!value.is_number_integer() && !value.is_number_unsigned()) return bad();
      words.push_back(fmt::format("{}={}", option.option, value.get<std::int64_t>()));
      return {};
    }
    case Option::Kind::number:
    case Option::Kind::quantity: {
      if (!value.is_number() || !std::isfinite(value.get<double>())) return bad();
      words.push_back(fmt::format("{}={}{}", option.option, value.get<double>() * option.scale, option.unit));
      return {};
    }
    case Option::Kind::word:
      if (!is_word(text_of(value))) return bad();
      words.push_back(fmt::format("{}={}", option.option, text_of(value)));
      return {};
    case Option::Kind::words: {
      if (!value.is_array()) return bad();
      for (const Json& one : value) {
        if (!is_word(text_of(one))) return bad();
        words.push_back(fmt::format("{}={}", option.option, text_of(one)));
      }
      return {};
    }
  }
  return {};
}

Status add_options(std::vector<std::string>& words, const Json& body, std::span<const Option> options) {
  for (const Option& option : options) PLIMSOLL_TRY(add_option(words, body, option));
  return {};
}

using Kind = Option::Kind;
constexpr Option kSharing[] = {{"device", "--device"},
                               {"sharing", "--sharing"},
                               {"for", "--for"},
                               {"cores", "--cores", Kind::whole},
                               {"keep", "--keep", Kind::words},
                               {"services_first", "--services-first", Kind::flag}};
constexpr Option kPlanning[] = {{"devices", "--devices"},
                                {"for", "--for"},
                                {"cores", "--cores", Kind::whole},
                                {"looks", "--looks", Kind::whole},
                                {"price", "--price", Kind::quantity}};
constexpr Option kNetwork[] = {{"batch", "--batch", Kind::whole},
                               {"seq", "--seq", Kind::whole},
                               {"mode", "--mode"},
                               {"allow_unknown", "--allow-unknown", Kind::flag}};
constexpr Option kRunning[] = {{"precision", "--precision"},
                               {"optimizer", "--optimizer"},
                               {"device", "--device"},
                               {"context", "--context", Kind::whole}};
constexpr Option kEstimating[] = {{"loss", "--loss"},
                                  {"kernels", "--kernels", Kind::flag},
                                  {"layers", "--layers", Kind::flag},
                                  {"checkpoint", "--checkpoint", Kind::flag},
                                  {"accumulate", "--accumulate", Kind::whole},
                                  {"channels_last", "--channels-last", Kind::flag},
                                  {"max_batch", "--max-batch", Kind::flag},
                                  {"advice", "--advice", Kind::flag},
                                  {"gpus", "--gpus", Kind::whole},
                                  {"sharding", "--sharding"}};
constexpr Option kChoosing[] = {{"seq", "--seq", Kind::whole},
                                {"device", "--device"},
                                {"precision", "--precision"},
                                {"all", "--all", Kind::flag},
                                {"max_latency", "--max-latency", Kind::quantity, "s"},
                                {"max_power", "--max-power", Kind::quantity, "W"},
                                {"max_mass", "--max-mass", Kind::quantity, "g", 1000},
                                {"max_price", "--max-price", Kind::quantity, "/h"},
                                {"min_accuracy", "--min-accuracy", Kind::quantity, "%", 100},
                                {"must", "--must", Kind::words}};

}  // namespace

bool is_run_id(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

Result<std::string> model_word(std::string_view text, UploadedModels& models) {
  if (text.starts_with("upload:")) {
    const Result<std::filesystem::path> path = models.find(text);
    if (!path) return std::unexpected(path.error());
    return path->string();
  }
  // Of the zoo; it may have options of its own, after a colon, but no file's ending.
  const bool plain = is_word(text) && text.find(".py") == text.npos && text.find(".onnx") == text.npos;
  if (!plain)
    return wrong(fmt::format("{} is no network of the zoo", quote(text)),
                 "Drop a file into the page, or name one of the zoo.");
  return std::string(text);
}

Result<Order> share_order(std::string_view what, std::string_view body, UploadedModels& models) {
  Result<Json> parsed = parse(body);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  Json& json = *parsed;
  Order order;
  const bool plans = what == "plan";
  const char* const list = plans ? "jobs" : "workloads";
  if (!json.contains(list) || !json[list].is_array())
    return wrong(fmt::format("the body has no {}", quote(list)));
  PLIMSOLL_TRY(check_texts(json[list], list, models));
  if (!plans) {
    order = {.words = {"beside", "--workloads=workloads.json"},
             .files = {{"workloads.json", json["workloads"].dump()}}};
    if (what == "matrix") order.words.emplace_back("--matrix");
    PLIMSOLL_TRY(add_options(order.words, json, kSharing));
    return order;
  }
  if (json["jobs"].size() > kMostJobs) return wrong(fmt::format("more than {} jobs", kMostJobs));
  order = {.words = {"plan", "jobs.json"}, .files = {{"jobs.json", json["jobs"].dump()}}};
  if (json.contains("inventory")) {
    PLIMSOLL_TRY(check_texts(json["inventory"], "inventory", models));
    order.words.emplace_back("--inventory=inventory.json");
    order.files.emplace_back("inventory.json", json["inventory"].dump());
  }
  PLIMSOLL_TRY(add_options(order.words, json, kPlanning));
  return order;
}

Result<Order> network_order(std::string_view what, std::string_view body, UploadedModels& models) {
  const Result<Json> json = parse(body);
  if (!json) return std::unexpected(json.error());
  if (!json->contains("model")) return wrong("the body has no \"model\"");
  const Result<std::string> model = model_word(text_of((*json)["model"]), models);
  if (!model) return std::unexpected(model.error());
  Order order{.words = {what == "timeline" || what == "kernels" ? "estimate" : std::string(what), *model}};
  if (what == "choose") {
    PLIMSOLL_TRY(add_options(order.words, *json, kChoosing));
    return order;
  }
  PLIMSOLL_TRY(add_options(order.words, *json, kNetwork));
  if (what != "inspect") PLIMSOLL_TRY(add_options(order.words, *json, kRunning));
  if (order.words.front() == "estimate") PLIMSOLL_TRY(add_options(order.words, *json, kEstimating));
  if (what == "timeline" || what == "kernels") {
    order.page = "page.html";
    order.words.emplace_back(what == "timeline" ? "--timeline=page.html" : "--kernel-page=page.html");
  }
  return order;
}

Result<Order> submission(std::string_view body) {
  const Result<Json> json = parse(body);
  if (!json) return std::unexpected(json.error());
  if (!json->contains("jobs") || !(*json)["jobs"].is_array() || (*json)["jobs"].empty())
    return wrong("the body has no \"jobs\"");
  if ((*json)["jobs"].size() > kMostJobs) return wrong(fmt::format("more than {} jobs", kMostJobs));
  Order order{
      .words = {"submit", "jobs.json"}, .files = {{"jobs.json", (*json)["jobs"].dump()}}, .at_home = true};
  const auto dry = json->find("dry_run");
  if (dry != json->end() && dry->is_boolean() && dry->get<bool>()) order.words.emplace_back("--dry-run");
  return order;
}

Result<Order> queue_order(std::string_view what, std::string_view body) {
  const Result<Json> json = parse(body);
  if (!json) return std::unexpected(json.error());
  Order order{.words = {std::string(what)}};
  if (!json->contains("jobs") || !(*json)["jobs"].is_array() || (*json)["jobs"].empty() ||
      (*json)["jobs"].size() > kMostJobs)
    return wrong("the body has no \"jobs\": their numbers");
  for (const Json& number : (*json)["jobs"]) {
    if (!number.is_number_unsigned()) return wrong("a job is told by its number");
    order.words.push_back(fmt::format("{}", number.get<std::uint64_t>()));
  }
  return order;
}

}  // namespace plimsoll::serve::dashboard
