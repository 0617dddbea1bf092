#include "precision_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "dataset/split.hpp"
#include "onnx/writer.hpp"
#include "quantize/layers.hpp"
#include "quantize/rewrite.hpp"
#include "ready_model.hpp"

namespace plimsoll {
namespace {

using learn::PairedLoss;
using network::Precision;
using network::TensorId;
using quantize::Layer;
using quantize::RangeRule;
using report::PrecisionForm;

struct MeasuredFormat {
  std::string_view name;
  Precision precision;
};
constexpr std::array<MeasuredFormat, 4> kMeasuredFormats = {{{"fp32", Precision::fp32},
                                                             {"bf16", Precision::bf16},
                                                             {"fp16", Precision::fp16},
                                                             {"int8", Precision::fp32}}};

std::string_view kind_name(Layer::Kind kind) {
  return kind == Layer::Kind::convolution ? "Conv" : kind == Layer::Kind::gemm ? "Gemm" : "MatMul";
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// What was said of the examples at these places, in their order.
Judgement at_places(const Judgement& all, const std::vector<std::int64_t>& places) {
  Judgement out;
  for (const std::int64_t place : places) {
    const auto i = static_cast<std::size_t>(place);
    out.predicted.push_back(all.predicted.at(i));
    out.labels.push_back(all.labels.at(i));
    out.losses.push_back(all.losses.at(i));
  }
  return out;
}

PairedLoss lost_between(const Judgement& before, const Judgement& after) {
  std::vector<std::int64_t> all(before.labels.size());
  std::iota(all.begin(), all.end(), 0);
  return learn::paired_loss(before.predicted, after.predicted, before.labels, all);
}

/// Of weights that are kept in `bits`: floating-point ones; others stay as they are.
std::int64_t weight_bytes(const network::Network& network, Precision precision) {
  network::WeightSizes sizes;
  for (const network::Graph& graph : network.graphs)
    for (const TensorId id : graph.weights) {
      std::int64_t count = 1;
      for (const network::Dim d : network.dims_of(network.tensor(id))) count *= d.exact() ? d.value() : 1;
      sizes.add(network.tensor(id).type, count);
    }
  return sizes.bytes(precision);
}

std::int64_t parameters_of(const network::Network& network) {
  std::int64_t out = 0;
  for (const TensorId id : network.main().weights) {
    if (network.tensor(id).role != network::Role::parameter) continue;
    std::int64_t count = 1;
    for (const network::Dim d : network.dims_of(network.tensor(id))) count *= d.exact() ? d.value() : 1;
    out += count;
  }
  return out;
}

/// The search for an int8 form of one network.
class QuantizationSearch {
 public:
  QuantizationSearch(const PrecisionOptions& options, const PrecisionSubject& subject,
                     const RunnableNetwork& original, PrecisionEngine& engine, report::PrecisionStudy& study)
      : options_(options), subject_(subject), original_(original), engine_(engine), study_(study) {}

  Status prepare() {
    Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-precision");
    PLIMSOLL_TRY(folder);
    folder_ = *std::move(folder);
    const quantize::ReadFloats stored = floats_of(original_);
    Result<quantize::Model> model = quantize::for_inference(original_.network, stored);
    PLIMSOLL_TRY(model);
    model_ = *std::move(model);
    read_ = quantize::floats_of(model_, stored);
    layers_ = quantize::find_layers(model_.network);
    if (layers_.empty())
      return std::unexpected(
          Error{"it has no convolution and no matrix product with stored float32 weights",
                {},
                "There is nothing that could be kept in 8 bits: leave int8 out of --formats."});
    Result<RunnableNetwork> made = runnable(model_, original_, folder_->path());
    PLIMSOLL_TRY(made);
    auto held = engine_.observe(*made, quantize::tensors_of(layers_));
    PLIMSOLL_TRY(held);
    histograms_ = *std::move(held);
    return {};
  }

  /// The rule that costs least on the examples to decide by, where it may be chosen.
  Status choose_range(const std::vector<std::int64_t>& selecting) {
    std::vector<RangeRule> rules = {RangeRule::largest, RangeRule::percentile, RangeRule::entropy};
    if (options_.range != "best") rules = {*quantize::rule_named(options_.range)};
    if (rules.size() == 1) {
      rule_ = rules.front();
      return {};
    }
    double least = 0;
    for (const RangeRule rule : rules) {
      rule_ = rule;
      Result<Judgement> after = judge(layers_, fmt::format("ranges by {}", name(rule)), selecting);
      PLIMSOLL_TRY(after);
      const double loss = mean_of(after->losses);
      if (rule != rules.front() && loss >= least) continue;
      least = loss;
      chosen_ = rule;
    }
    rule_ = chosen_;
    return {};
  }

  [[nodiscard]] Result<quantize::Model> with(const std::vector<Layer>& layers) const {
    std::map<TensorId, quantize::Range> ranges;
    for (const auto& [id, histogram] : histograms_) ranges[id] = quantize::range_of(histogram, rule_);
    return quantize::quantize(model_, read_, layers, ranges, {.reduced = options_.reduced});
  }

  Result<Judgement> judge(const std::vector<Layer>& layers, const std::string& what,
                          const std::vector<std::int64_t>& places) {
    const Result<quantize::Model> made = with(layers);
    PLIMSOLL_TRY(made);
    Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-precision");
    PLIMSOLL_TRY(folder);
    Result<RunnableNetwork> network = runnable(*made, original_, folder->path());
    PLIMSOLL_TRY(network);
    return engine_.judge(*network, Precision::fp32, what, places);
  }

  /// What each layer alone costs; the dearest first in `order`.
  Status cost_layers(const Judgement& all, const std::vector<std::int64_t>& places) {
    const Judgement before = at_places(all, places);
    first_cost_ = study_.layers.size();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Result<Judgement> after =
          judge({layers_[i]}, fmt::format("layer {} of {}", i + 1, layers_.size()), places);
      PLIMSOLL_TRY(after);
      study_.layers.push_back({.depth = subject_.depth,
                               .name = layers_[i].name,
                               .kind = std::string(kind_name(layers_[i].kind)),
                               .parameters = layers_[i].parameters,
                               .loss_rise = mean_of(after->losses) - mean_of(before.losses),
                               .lost = lost_between(before, *after)});
    }
    order_.resize(layers_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::greater<>(),
                             [&](std::size_t i) { return study_.layers[first_cost_ + i].loss_rise; });
    return {};
  }

  /// All but the `kept` dearest.
  [[nodiscard]] std::vector<Layer> without(std::size_t kept) const {
    std::vector<bool> out_of(layers_.size(), false);
    for (std::size_t i = 0; i < kept; ++i) out_of[order_[i]] = true;
    std::vector<Layer> left;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (!out_of[i]) left.push_back(layers_[i]);
    return left;
  }
  void mark_kept(std::size_t kept) {
    for (std::size_t i = 0; i < kept; ++i) study_.layers[first_cost_ + order_[i]].kept = true;
  }

  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] RangeRule rule() const { return rule_; }

 private:
  const PrecisionOptions& options_;
  const PrecisionSubject& subject_;
  const RunnableNetwork& original_;
  PrecisionEngine& engine_;
  report::PrecisionStudy& study_;
  std::optional<TemporaryDirectory> folder_;
  quantize::Model model_;
  quantize::ReadFloats read_;
  std::vector<Layer> layers_;
  std::map<TensorId, quantize::Histogram> histograms_;
  RangeRule rule_ = RangeRule::largest, chosen_ = RangeRule::largest;
  std::vector<std::size_t> order_;
  std::size_t first_cost_ = 0;
};

/// One network in every format.
class SubjectRun {
 public:
  SubjectRun(const PrecisionOptions& options, const PrecisionSubject& subject, ReadyModel& model,
             PrecisionEngine& engine, report::PrecisionStudy& study)
      : options_(options),
        subject_(subject),
        model_(model),
        original_{model.loaded.network, model.weights.files, model.weights.locations},
        engine_(engine),
        study_(study) {}

  Status run() {
    Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-precision");
    PLIMSOLL_TRY(folder);
    folder_ = *std::move(folder);
    first_ = study_.forms.size();
    Result<Judgement> before = engine_.judge(original_, Precision::fp32, label("fp32"));
    PLIMSOLL_TRY(before);
    before_ = *std::move(before);
    if (is_choosing()) {
      halves_ = halves_of(std::ssize(before_.labels), options_.train.execution.seed);
    } else {
      halves_.held_out.resize(before_.labels.size());
      std::iota(halves_.held_out.begin(), halves_.held_out.end(), 0);
    }
    study_.selecting = std::ssize(halves_.selecting);
    study_.held_out = std::ssize(halves_.held_out);
    for (const std::string& word : options_.formats)
      PLIMSOLL_TRY(add(*std::ranges::find(kMeasuredFormats, word, &MeasuredFormat::name)));
    if (!options_.no_time) PLIMSOLL_TRY(time_all());
    return {};
  }

 private:
  [[nodiscard]] bool is_choosing() const {
    const bool eight_bits = std::ranges::find(options_.formats, "int8") != options_.formats.end();
    return eight_bits && (options_.loss || options_.range == "best");
  }
  [[nodiscard]] std::string label(std::string_view format) const {
    return subject_.depth ? fmt::format("{} at {:g}", format, *subject_.depth) : std::string(format);
  }

  Status add(const MeasuredFormat& format) {
    PrecisionForm form{.depth = subject_.depth, .format = std::string(format.name)};
    form.parameters = parameters_of(original_.network);
    networks_.push_back({original_, format.precision});
    if (format.name == "int8") {
      if (const Status done = add_eight_bits(form); !done) {
        if (done.error().kind != Error::Kind::machine_lacks) return done;
        form.missing = done.error().message;
      }
      study_.forms.push_back(std::move(form));
      return {};
    }
    std::error_code ignored;
    const auto size = std::filesystem::file_size(subject_.file, ignored);
    form.bytes = static_cast<std::int64_t>(size);
    form.file = subject_.file;
    if (format.name != "fp32") {
      // Not written: what it would be with its weights in this format.
      form.file.clear();
      form.bytes = static_cast<std::int64_t>(size) - weight_bytes(original_.network, Precision::fp32) +
                   weight_bytes(original_.network, format.precision);
    }
    Result<Judgement> after = format.name == "fp32"
                                  ? Result<Judgement>(before_)
                                  : engine_.judge(original_, format.precision, label(format.name));
    if (!after && engine_.interrupted()) return std::unexpected(after.error());
    if (!after)
      form.missing = "the engine does not compute it here: " + after.error().text();
    else
      judge(form, *after);
    study_.forms.push_back(std::move(form));
    return {};
  }

  void judge(PrecisionForm& form, const Judgement& after) const {
    std::int64_t right = 0;
    for (const std::int64_t place : halves_.held_out) {
      const auto i = static_cast<std::size_t>(place);
      right += after.predicted.at(i) == after.labels.at(i) ? 1 : 0;
    }
    form.accuracy = learn::share_of(right, std::ssize(halves_.held_out));
    form.lost = learn::paired_loss(before_.predicted, after.predicted, before_.labels, halves_.held_out);
    if (!halves_.selecting.empty())
      form.lost_selecting =
          learn::paired_loss(before_.predicted, after.predicted, before_.labels, halves_.selecting);
  }

  Status add_eight_bits(PrecisionForm& form) {
    if (options_.train.device != "cpu" && !options_.train.device.empty())
      return std::unexpected(
          Error{"LibTorch has eight-bit kernels for CPUs alone", {}, {}, Error::Kind::machine_lacks});
    QuantizationSearch search(options_, subject_, original_, engine_, study_);
    PLIMSOLL_TRY(search.prepare());
    PLIMSOLL_TRY(search.choose_range(halves_.selecting));
    std::vector<std::int64_t> places = halves_.selecting.empty() ? halves_.held_out : halves_.selecting;
    if (std::ssize(places) > options_.sensitivity)
      places.resize(static_cast<std::size_t>(options_.sensitivity));
    if (!options_.no_layers) PLIMSOLL_TRY(search.cost_layers(before_, places));
    std::vector<Layer> chosen = search.layers();
    if (options_.loss) {
      const Result<std::size_t> kept = fewest_kept(search);
      PLIMSOLL_TRY(kept);
      search.mark_kept(*kept);
      chosen = search.without(*kept);
    }
    form.range = name(search.rule());
    form.layers = search.layers().size();
    form.eight_bit_layers = chosen.size();
    for (const Layer& layer : chosen) form.eight_bit_parameters += layer.parameters;
    const Result<quantize::Model> made = search.with(chosen);
    PLIMSOLL_TRY(made);
    return finish(form, *made);
  }

  /// By a margin: the loss on the examples to decide by is below the limit with 95 % confidence.
  Result<std::size_t> fewest_kept(QuantizationSearch& search) {
    std::optional<Error> failed;
    const Judgement before = at_places(before_, halves_.selecting);
    const auto holds = [&](std::size_t kept) {
      if (failed) return true;
      const Result<Judgement> after =
          search.judge(search.without(kept), fmt::format("{} layer{} in fp32", kept, kept == 1 ? "" : "s"),
                       halves_.selecting);
      if (!after) {
        failed = after.error();
        return true;
      }
      return lost_between(before, *after).most <= *options_.loss / 100;
    };
    const std::size_t kept = learn::fewest_kept(search.layers().size(), holds);
    if (failed) return std::unexpected(*failed);
    return kept;
  }

  /// Written, and read again: what is measured is the file.
  Status finish(PrecisionForm& form, const quantize::Model& made) {
    const bool asked = !subject_.output.empty();
    const std::filesystem::path path =
        asked ? std::filesystem::path(subject_.output) : folder_->path() / "int8.onnx";
    PLIMSOLL_TRY(write(made, path));
    ReadyRequest request;
    request.model = path.string();
    request.binding = options_.train.binding;
    Result<ReadyModel> ready = make_ready(request);
    PLIMSOLL_TRY(ready);
    RunnableNetwork network{ready->loaded.network, ready->weights.files, ready->weights.locations};
    const Result<Judgement> after = engine_.judge(network, Precision::fp32, label("int8"));
    PLIMSOLL_TRY(after);
    judge(form, *after);
    if (asked) form.file = path.string();
    std::error_code ignored;
    form.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
    networks_.back().network = std::move(network);
    if (options_.loss)
      form.kept_promise = form.eight_bit_layers > 0 && form.lost->value <= *options_.loss / 100;
    return {};
  }

  Status write(const quantize::Model& made, const std::filesystem::path& path) {
    const onnx::WeightSource stored =
        model_.loaded.file ? onnx::weights_of(*model_.loaded.file) : onnx::WeightSource();
    const onnx::WeightSource source = [&](TensorId id) -> Result<onnx::WeightBytes> {
      if (const auto found = made.contents.find(id); found != made.contents.end())
        return onnx::WeightBytes{found->second, {}};
      if (stored) return stored(id);
      return fail("the contents of {} are missing", quote(made.network.name_of(id)));
    };
    return onnx::write(made.network, source, path);
  }

  /// In turn, so that what else the machine does meanwhile is the same for all of them.
  Status time_all() {
    const std::size_t count = study_.forms.size() - first_;
    std::vector<std::vector<double>> samples(count);
    for (std::int64_t round = 0; round < options_.rounds; ++round)
      for (std::size_t i = 0; i < count; ++i) {
        PrecisionForm& form = study_.forms[first_ + i];
        if (form.missing) continue;
        const auto row = engine_.time(networks_[i].network, networks_[i].precision,
                                      fmt::format("{}, round {}", label(form.format), round + 1));
        if (!row) return fail("interrupted");
        if (row->failure || row->does_not_fit || !row->seconds) {
          form.missing = row->failure ? row->failure->message : "it does not fit";
          continue;
        }
        take(form, *row);
        samples[i].push_back(row->seconds->value);
      }
    std::optional<std::size_t> whole;
    for (std::size_t i = 0; i < count; ++i)
      if (study_.forms[first_ + i].format == "fp32") whole = i;
    for (std::size_t i = 0; i < count; ++i) {
      if (samples[i].empty()) continue;
      PrecisionForm& form = study_.forms[first_ + i];
      form.samples = samples[i];
      form.seconds = median_of(samples[i], 0.95);
      if (!form.joules && options_.watts) form.joules = *options_.watts * form.seconds->value;
      if (!whole || samples[*whole].size() != samples[i].size()) continue;
      std::vector<double> ratios;
      for (std::size_t r = 0; r < samples[i].size(); ++r)
        ratios.push_back(samples[*whole][r] / samples[i][r]);
      form.speed = median_of(ratios, 0.95);
    }
    return {};
  }

  void take(PrecisionForm& form, const measure::Row& row) {
    if (row.measured) form.peak_bytes = row.measured->memory.peak_allocated_bytes;
    if (row.prepared && !row.prepared->quantized_by.empty()) form.library = row.prepared->quantized_by;
    if (row.hello) study_.engine = "LibTorch " + row.hello->torch;
    if (row.hello) study_.threads = row.hello->threads;
    if (row.hello && study_.processor.empty()) study_.processor = row.hello->device_name;
    if (row.energy) {
      form.joules = row.energy->per_pass.value();
      form.energy_source = row.energy->source;
    } else if (options_.watts) {
      form.joules.reset();  // known by the time
      form.energy_source = fmt::format("time at {:g} W, which were given", *options_.watts);
    }
  }

  struct Timed {
    RunnableNetwork network;
    Precision precision;
  };

  const PrecisionOptions& options_;
  const PrecisionSubject& subject_;
  ReadyModel& model_;
  RunnableNetwork original_;
  PrecisionEngine& engine_;
  report::PrecisionStudy& study_;
  std::optional<TemporaryDirectory> folder_;
  std::size_t first_ = 0;
  Judgement before_;
  Halves halves_;
  std::vector<Timed> networks_;
};

}  // namespace

Halves halves_of(std::int64_t examples, std::uint64_t seed) {
  dataset::Split split = dataset::split(examples, 0.5, seed);
  return {std::move(split.training), std::move(split.held_out)};
}

Result<bool> measure_precisions(const PrecisionOptions& options, const PrecisionSubject& subject,
                                PrecisionEngine& engine, report::PrecisionStudy& study) {
  ReadyRequest request;
  request.model = subject.file;
  request.binding = options.train.binding;
  Result<ReadyModel> model = make_ready(request);
  PLIMSOLL_TRY(model);
  const Status done = SubjectRun(options, subject, *model, engine, study).run();
  if (engine.interrupted()) return false;
  if (!done) return std::unexpected(Error(done.error()).within(printable(subject.file)));
  return true;
}

}  // namespace plimsoll
