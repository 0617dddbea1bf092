// Any bytes, taken for an ONNX model, must go all the way to the reports or end in one Error: no crash, no
// hang, no memory beyond bounds. What was read must come back equal from a file that the writer made of it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "estimate/floor.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "hardware/catalogue.hpp"
#include "network/binding.hpp"
#include "network/inference.hpp"
#include "onnx/reader.hpp"
#include "onnx/writer.hpp"
#include "program/count.hpp"
#include "program/lowering.hpp"
#include "report/inspection.hpp"
#include "report/weighing.hpp"

namespace {

using namespace plimsoll;

/// Ends the run as a finding, with a reason in the log.
[[noreturn]] void broken(const std::string& why) {
  std::fprintf(stderr, "model_fuzz: %s\n", why.c_str());
  std::abort();
}

/// One file per process, in memory where the system has such a folder.
const std::filesystem::path& scratch_file() {
  static const std::filesystem::path kPath = [] {
    std::error_code error;
    const std::filesystem::path memory = "/dev/shm";
    const bool there = std::filesystem::is_directory(memory, error);
    return (there ? memory : std::filesystem::temp_directory_path()) /
           ("plimsoll_model_fuzz_" + std::to_string(::getpid()) + ".onnx");
  }();
  static const bool kRemovedInTheEnd = std::atexit([] {
                                         std::error_code error;
                                         std::filesystem::remove(scratch_file(), error);
                                       }) == 0;
  (void)kRemovedInTheEnd;
  return kPath;
}

void check_round_trip(const network::Network& network) {
  const Status written = onnx::write(network, {}, scratch_file());
  if (!written) return;  // the writer may refuse what ONNX cannot say
  const Result<onnx::Model> back = onnx::read(scratch_file());
  if (!back) broken("what was written cannot be read: " + back.error().text());
  if (!(network == back->network)) broken("what was written reads as another network");
}

void check_work(const program::Work& work) {
  for (const program::Interval i : {work.macs, work.flops, work.bytes_read, work.bytes_written})
    if (i.low < 0 || i.low > i.high) broken("a count's bounds are out of order");
}

void check_counts(const program::Counts& counts) {
  for (const program::OperatorCount& row : counts.operators) {
    check_work(counts.work_of(row));
    check_work(counts.backward_of(row));
    if (row.parameters < 0 || row.weight_bytes < 0 || row.activation_bytes < 0) broken("a count below zero");
  }
  check_work(counts.forward);
  check_work(counts.backward);
  if (counts.parameters < 0 || counts.weight_bytes < 0 || counts.activation_bytes < 0 ||
      counts.input_bytes < 0 || counts.output_bytes < 0)
    broken("a total below zero");
}

/// What people see must move no cursor, whatever names the file holds.
void check_text(const std::string& text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r') || c == 0x7f)
      broken("a control character is shown");
}

void report(const onnx::Model& model, const network::Shapes& shapes,
            const program::Conventions& conventions) {
  const program::Counts counts = program::count(model.network, shapes, conventions);
  check_counts(counts);
  const report::Inspection inspection{"fuzz", model.network, shapes, counts, conventions, model.notes};
  (void)report::to_json(inspection).dump();
  const report::TextStyle style{.width = 80, .color = false};
  check_text(report::summary_text(inspection, style));
  check_text(report::to_text(report::kind_table(inspection), style));
  const report::Table layers = report::layer_table(inspection);
  check_text(report::to_text(layers, style));
  check_text(report::to_csv(layers));
  check_text(report::to_markdown(layers));

  const network::Setting setting{.mode = network::Mode::train,
                                 .precision = network::Precision::amp_bf16,
                                 .optimizer = network::Optimizer::adamw};
  const report::Weighing weighing{inspection, setting, estimate::needs(model.network, counts, setting), {}};
  (void)report::to_json(weighing).dump();
  check_text(report::weighing_text(weighing, style));
}

/// Lowered, allocated and timed as on a GPU and as on a CPU: figures in order, or one Error.
void estimate_all(const network::Network& network, const network::Shapes& shapes) {
  static const hardware::Device kGpu = **hardware::built_in_catalogue()->find("t4");
  static const hardware::Device kCpu{.id = "cpu", .name = "CPU", .kind = hardware::DeviceKind::cpu};
  for (const network::Setting& setting :
       {network::Setting{.context = 5}, network::Setting{.precision = network::Precision::amp_bf16},
        network::Setting{.mode = network::Mode::train,
                         .precision = network::Precision::amp_fp16,
                         .optimizer = network::Optimizer::adam,
                         .checkpoint = true,
                         .accumulate = 2},
        network::Setting{.mode = network::Mode::train, .loss = network::Loss::mean_square}})
    for (const hardware::Device* device : {&kGpu, &kCpu}) {
      const estimate::Target target{device};
      const Result<program::Program> program =
          program::lower(network, shapes, setting, target.platform(setting));
      if (!program) {
        if (program.error().text().empty()) broken("lowering fails without a word");
        continue;
      }
      if (const auto memory = estimate::estimate_memory(network, *program, setting, *device))
        if (memory->low > memory->high || memory->peak_allocated < Bytes()) broken("memory is out of order");
      if (const auto time = estimate::estimate_time(*program, setting, target))
        if (!(time->low <= time->seconds && time->seconds <= time->high && time->seconds <= time->eager))
          broken("time is out of order");
    }
}

void infer_and_report(const onnx::Model& model, const network::BindingRequest& request) {
  const Result<network::Binding> binding = network::bind(model.network, request);
  if (!binding) {
    if (binding.error().text().empty()) broken("binding fails without a word");
    return;
  }
  network::InferOptions options;
  options.allow_unknown_operators = true;
  const Result<network::Shapes> shapes = network::infer(model.network, *binding, options);
  if (!shapes) {
    if (shapes.error().text().empty()) broken("inference fails without a word");
    return;
  }
  // A file may ask for more work than there is time: large graphs are counted, not simulated.
  constexpr std::size_t kMostSimulated = 200;
  if (model.network.main().operators.size() <= kMostSimulated) estimate_all(model.network, *shapes);
  report(model, *shapes, {});
  report(model, *shapes, {.flops_per_mac = 1, .bias = false, .batch_norm = false, .halve_causal = true});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Result<onnx::Model> model = onnx::read_bytes(std::as_bytes(std::span(data, size)), "fuzz");
  if (!model) {
    if (model.error().message.empty()) broken("reading fails without a word");
    return 0;
  }
  for (const onnx::WeightData& weight : model->weights) (void)model->bytes_of(weight.tensor);
  infer_and_report(*model, {});
  network::BindingRequest request;
  request.batch = 3;
  request.sequence = 7;
  infer_and_report(*model, request);
  request.sequence.reset();
  infer_and_report(*model, request);
  check_round_trip(model->network);
  return 0;
}
