#include <algorithm>
#include <array>

#include "job/case_json.hpp"
#include "job/fields.hpp"
#include "job/job.hpp"
#include "job/joining_json.hpp"
#include "job/learning_json.hpp"
#include "job/network_json.hpp"
#include "job/setting_json.hpp"
#include "job/swapping_json.hpp"
#include "network/shape.hpp"

namespace plimsoll::job {
namespace {

using network::TensorId;

constexpr int kJobLevels =
    14;  // document, members, member, network, graphs, graph, operators, operator, attributes, …
constexpr std::size_t kMostMembers = 64;
constexpr std::int64_t kMostEpochs = std::int64_t{1}
                                     << 40;  // times steps of an epoch they are a number still
constexpr double kYear = 365.0 * 24 * 3600;

Json tensor_number(TensorId id) {
  return static_cast<std::int64_t>(id);
}
Json binding_json(const network::Binding& binding) {
  Json symbols = Json::array(), inputs = Json::array();
  for (const network::BoundSymbol& symbol : binding.symbols)
    symbols.push_back(
        {{"name", text_json(symbol.name)}, {"value", symbol.value}, {"assumed", symbol.assumed}});
  for (const network::Binding::InputShape& input : binding.inputs)
    inputs.push_back({{"tensor", tensor_number(input.tensor)}, {"dims", input.dims}});
  return {{"symbols", std::move(symbols)}, {"inputs", std::move(inputs)}};
}

Json execution_json(const Execution& execution) {
  return {{"learning_rate", real_json(execution.learning_rate)},
          {"deterministic", execution.deterministic},
          {"seed", execution.seed},
          {"threads", execution.threads},
          {"quantized_by", text_json(execution.quantized_by)}};
}

Json protocol_json(const Protocol& protocol) {
  const Scenario& scenario = protocol.scenario;
  return {{"seconds", real_json(protocol.seconds)},
          {"relative_width", real_json(protocol.relative_width)},
          {"confidence", real_json(protocol.confidence)},
          {"least_samples", protocol.least_samples},
          {"most_samples", protocol.most_samples},
          {"layers", protocol.layers},
          {"energy_seconds", real_json(protocol.energy_seconds)},
          {"paced", protocol.paced},
          {"trace", text_json(protocol.trace)},
          {"scenario",
           {{"arrival", name(scenario.arrival)},
            {"queries", scenario.queries},
            {"samples_per_query", scenario.samples_per_query},
            {"queries_per_second", real_json(scenario.queries_per_second)},
            {"samples", scenario.samples}}}};
}

Json weights_json(const std::vector<WeightLocation>& weights) {
  Json list = Json::array();
  for (const WeightLocation& weight : weights)
    list.push_back({{"tensor", tensor_number(weight.tensor)},
                    {"file", weight.file},
                    {"offset", weight.offset},
                    {"bytes", weight.bytes}});
  return list;
}

Json data_json(const Data& data) {
  return {{"file", text_json(data.file)},
          {"inputs", text_json(data.inputs)},
          {"labels", text_json(data.labels)},
          {"test_inputs", text_json(data.test_inputs)},
          {"test_labels", text_json(data.test_labels)},
          {"epochs", data.epochs},
          {"shuffle", data.shuffle},
          {"held_out", real_json(data.held_out)},
          {"examples", data.examples},
          {"other_file", text_json(data.other_file)}};
}

Json cases_json(const std::vector<OperatorCase>& cases) {
  Json list = Json::array();
  for (const OperatorCase& c : cases) list.push_back(case_json(c));
  return list;
}

Json chains_json(const std::vector<OperatorChain>& chains) {
  Json list = Json::array();
  for (const OperatorChain& chain : chains)
    list.push_back({{"name", text_json(chain.name)}, {"cases", cases_json(chain.cases)}});
  return list;
}

OperatorChain read_chain(const Fields& fields) {
  OperatorChain chain{fields.text("name"), {}};
  fields.each("cases", [&chain](const Fields& c) { chain.cases.push_back(read_case(c)); });
  return chain;
}

/// A path for the kernel: a NUL would cut it short.
std::string path_text(const Fields& fields, std::string_view key) {
  std::string path = fields.text(key);
  if (path.find('\0') != path.npos) fields.complain(key, "is not a path");
  return path;
}

TensorId read_tensor(const Fields& fields, const network::Network& network) {
  return static_cast<TensorId>(
      fields.whole("tensor", 0, static_cast<std::int64_t>(network.tensors.size()) - 1));
}

network::Binding read_binding(const Fields& fields, const network::Network& network) {
  network::Binding binding;
  fields.each("symbols", [&](const Fields& symbol) {
    binding.symbols.push_back({symbol.text("name"), symbol.whole("value"), symbol.flag("assumed")});
  });
  if (binding.symbols.size() != network.symbols.size())
    fields.complain("symbols", fmt::format("has {} of the network's {} symbols", binding.symbols.size(),
                                           network.symbols.size()));
  fields.each("inputs", [&](const Fields& input) {
    binding.inputs.push_back({read_tensor(input, network), input.wholes("dims", 0)});
    if (binding.inputs.back().dims.size() > network::kMaxRank)
      input.complain("dims", fmt::format("has more than {} extents", network::kMaxRank));
  });
  return binding;
}

Execution read_execution(const Fields& fields) {
  return {.learning_rate = fields.not_negative("learning_rate"),
          .deterministic = fields.flag("deterministic"),
          .seed = fields.natural("seed"),
          .threads = fields.whole("threads", 0, 1 << 16),
          .quantized_by = fields.has("quantized_by") ? fields.text("quantized_by") : ""};
}

double read_seconds(const Fields& fields, std::string_view key) {
  const double seconds = fields.not_negative(key);
  if (seconds > kYear) fields.complain(key, "is more than a year");
  return seconds;
}

Scenario read_scenario(const Fields& fields) {
  Scenario scenario{.arrival = fields.choice("arrival", arrival_named),
                    .queries = fields.whole("queries"),
                    .samples_per_query = fields.whole("samples_per_query", 1),
                    .queries_per_second = fields.not_negative("queries_per_second"),
                    .samples = fields.whole("samples")};
  if (scenario.arrival == Arrival::server && scenario.queries_per_second <= 0)
    fields.complain("queries_per_second", "is not above 0, which a server needs");
  return scenario;
}

Protocol read_protocol(const Fields& fields) {
  Protocol protocol{.seconds = read_seconds(fields, "seconds"),
                    .relative_width = fields.not_negative("relative_width"),
                    .confidence = fields.not_negative("confidence"),
                    .least_samples = fields.whole("least_samples", 1),
                    .most_samples = fields.whole("most_samples", 1),
                    .layers = fields.flag("layers"),
                    .energy_seconds = read_seconds(fields, "energy_seconds"),
                    .paced = fields.flag("paced"),
                    .trace = path_text(fields, "trace"),
                    .scenario = read_scenario(fields.section("scenario"))};
  if (protocol.confidence <= 0 || protocol.confidence >= 1)
    fields.complain("confidence", "is not between 0 and 1");
  if (protocol.most_samples < protocol.least_samples)
    fields.complain("most_samples", "is less than least_samples");
  return protocol;
}

/// Of the tensor's contents, packed; nothing where its shape is not exact or its type has no size.
std::optional<std::int64_t> contents_bytes(const network::Network& network, const network::Tensor& tensor) {
  if (!tensor.has_shape || network::bits(tensor.type) == 0) return std::nullopt;
  std::int64_t elements = 1;
  for (const network::Dim dim : network.dims_of(tensor))
    if (!dim.exact() || __builtin_mul_overflow(elements, dim.value(), &elements)) return std::nullopt;
  return network::packed_bytes(tensor.type, elements);
}

std::vector<WeightLocation> read_weights(const Fields& fields, const Job& job) {
  std::vector<WeightLocation> weights;
  std::vector<bool> seen(job.network.tensors.size());
  fields.each("weights", [&](const Fields& item) {
    const WeightLocation weight{.tensor = read_tensor(item, job.network),
                                .file = static_cast<std::uint32_t>(
                                    item.whole("file", 0, static_cast<std::int64_t>(job.files.size()) - 1)),
                                .offset = item.whole("offset"),
                                .bytes = item.whole("bytes")};
    if (!item.good()) return;
    if (seen[static_cast<std::size_t>(weight.tensor)]) item.complain("tensor", "has a location already");
    seen[static_cast<std::size_t>(weight.tensor)] = true;
    if (contents_bytes(job.network, job.network.tensor(weight.tensor)) != weight.bytes)
      item.complain("bytes", "is not what the tensor's type and shape take");
    if (weight.offset > kMostWhole - weight.bytes) item.complain("offset", "lies beyond any file");
    weights.push_back(weight);
  });
  return weights;
}

Data read_data(const Fields& fields) {
  return {.file = path_text(fields, "file"),
          .inputs = fields.text("inputs"),
          .labels = fields.text("labels"),
          .test_inputs = fields.text("test_inputs"),
          .test_labels = fields.text("test_labels"),
          .epochs = fields.whole("epochs", 1, kMostEpochs),
          .shuffle = fields.flag("shuffle"),
          .held_out = fields.not_negative_if_any("held_out").value_or(0),
          .examples = fields.whole_if_any("examples").value_or(0),
          .other_file = fields.has("other_file") ? path_text(fields, "other_file") : ""};
}

Json examining_json(const Examining& examining) {
  Json observed = Json::array();
  for (const TensorId id : examining.observed) observed.push_back({{"tensor", tensor_number(id)}});
  return {{"test", examining.test}, {"places", examining.places}, {"observed", std::move(observed)}};
}

Examining read_examining(const Fields& fields, const network::Network& network) {
  Examining examining{.test = fields.flag("test"), .places = fields.wholes("places", 0), .observed = {}};
  fields.each("observed",
              [&](const Fields& item) { examining.observed.push_back(read_tensor(item, network)); });
  return examining;
}

/// "cpu", "cuda:0".
std::string read_device(const Fields& fields) {
  std::string device = fields.text("device");
  const std::string_view prefix = "cuda:";
  const bool numbered =
      device.starts_with(prefix) && device.size() > prefix.size() && device.size() <= prefix.size() + 3 &&
      std::ranges::all_of(device.substr(prefix.size()), [](char c) { return c >= '0' && c <= '9'; });
  if (device != "cpu" && !numbered) fields.complain("device", "is neither \"cpu\" nor \"cuda:N\"");
  return device;
}

Job read_fields(const Fields& fields);

/// Networks that learn together, take turns or are loaded together.
void read_members(const Fields& fields, Task task, Job& job) {
  if (fields.list("members").size() > kMostMembers)
    return fields.complain("members", fmt::format("are more than {}", kMostMembers));
  fields.each("members", [&job, task](const Fields& item) {
    Job member = read_fields(item);
    if (!item.good()) return;
    if (member.task != task || !member.members.empty())
      item.complain("task", fmt::format("is not \"{}\" of one network", name(task)));
    else if (member.device != job.device)
      item.complain("device", "is not that of the whole");
    job.members.push_back(std::move(member));
  });
}

/// What has no network of its own.
void read_several(const Fields& fields, Job& job) {
  job.device = read_device(fields);
  job.execution = read_execution(fields.section("execution"));
  read_members(fields, job.task == Task::join ? Task::train : Task::measure, job);
  if (!fields.good()) return;
  if (job.members.empty()) return fields.complain("members", "are none");
  if (job.task == Task::join)
    job.joining = read_joining(fields.section("joining"), job.members);
  else
    job.swapping = read_swapping(fields.section("swapping"), job.members);
}

Job read_fields(const Fields& fields) {
  Job job;
  if (fields.whole("version", 0) != kVersion) {
    fields.complain("version",
                    fmt::format("is not {}: plimsoll and its engine are of different versions", kVersion));
    return job;
  }
  job.task = fields.choice("task", task_named);
  if (job.task == Task::calibrate) {
    job.device = read_device(fields);
    job.execution = read_execution(fields.section("execution"));
    fields.each("cases", [&job](const Fields& c) { job.cases.push_back(read_case(c)); });
    fields.each("chains", [&job](const Fields& chain) { job.chains.push_back(read_chain(chain)); });
    return job;
  }
  if (job.task == Task::join || job.task == Task::swap) {
    read_several(fields, job);
    return job;
  }
  const Fields network = fields.section("network");
  if (!fields.good()) return job;
  job.network = read_network(network);
  if (!fields.good()) return job;
  job.binding = read_binding(fields.section("binding"), job.network);
  job.device = read_device(fields);
  job.setting = read_setting(fields.section("setting"));
  job.execution = read_execution(fields.section("execution"));
  job.protocol = read_protocol(fields.section("protocol"));
  job.files = fields.texts("files");
  for (const std::string& file : job.files)
    if (file.empty() || file.find('\0') != file.npos)
      fields.complain("files", "has an item that is not a path");
  job.weights = read_weights(fields, job);
  job.random_weights = fields.flag("random_weights");
  job.inputs_file = path_text(fields, "inputs_file");
  job.outputs_file = path_text(fields, "outputs_file");
  if (fields.has("data")) job.data = read_data(fields.section("data"));
  if (job.data && job.data->held_out >= 1) fields.complain("data", "holds all examples out");
  if (job.task == Task::measure && fields.has("members")) read_members(fields, Task::measure, job);
  if (fields.has("learning")) job.learning = read_learning(fields.section("learning"));
  if (fields.has("examining")) job.examining = read_examining(fields.section("examining"), job.network);
  return job;
}

Json json_of(const Job& job);

Json members_json(const Job& job) {
  Json members = Json::array();
  for (const Job& member : job.members) members.push_back(json_of(member));
  return members;
}

Json json_of(const Job& job) {
  if (job.task == Task::calibrate)
    return {{"version", kVersion},
            {"task", name(job.task)},
            {"device", text_json(job.device)},
            {"execution", execution_json(job.execution)},
            {"cases", cases_json(job.cases)},
            {"chains", chains_json(job.chains)}};
  if (job.task == Task::join || job.task == Task::swap) {
    Json document = {{"version", kVersion},
                     {"task", name(job.task)},
                     {"device", text_json(job.device)},
                     {"execution", execution_json(job.execution)},
                     {"members", members_json(job)}};
    if (job.task == Task::join)
      document["joining"] = joining_json(job.joining);
    else
      document["swapping"] = swapping_json(job.swapping);
    return document;
  }
  Json document = {{"version", kVersion},
                   {"task", name(job.task)},
                   {"network", network_json(job.network)},
                   {"binding", binding_json(job.binding)},
                   {"device", text_json(job.device)},
                   {"setting", setting_json(job.setting)},
                   {"execution", execution_json(job.execution)},
                   {"protocol", protocol_json(job.protocol)},
                   {"files", texts_json(job.files)},
                   {"weights", weights_json(job.weights)},
                   {"random_weights", job.random_weights},
                   {"inputs_file", text_json(job.inputs_file)},
                   {"outputs_file", text_json(job.outputs_file)}};
  if (job.data) document["data"] = data_json(*job.data);
  if (!job.members.empty()) document["members"] = members_json(job);
  if (job.task == Task::train || job.task == Task::examine)
    document["learning"] = learning_json(job.learning);
  if (job.task == Task::examine) document["examining"] = examining_json(job.examining);
  return document;
}

}  // namespace

std::string write(const Job& job) {
  return dump(json_of(job));
}

Result<Job> read(std::string_view text) {
  const Result<Json> document = parse_within(text, kMostJobBytes, kJobLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  Job job = read_fields(Fields(*document, "", error));
  if (error) return std::unexpected(std::move(*error));
  return job;
}

}  // namespace plimsoll::job
