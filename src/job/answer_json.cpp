#include <array>

#include "base/printable.hpp"
#include "job/answer.hpp"
#include "job/case_json.hpp"
#include "job/fields.hpp"

namespace plimsoll::job {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;  // 10,000 samples and layers are under 1 MiB
constexpr int kAnswerLevels = 6;

/// Fills an object; what is not known is left out.
class Line {
 public:
  explicit Line(std::string_view type) { object_["type"] = type; }
  Line& add(const char* key, Json value) {
    object_[key] = std::move(value);
    return *this;
  }
  Line& text(const char* key, std::string_view value) { return add(key, text_json(value)); }
  Line& real(const char* key, double value) { return add(key, real_json(value)); }
  Line& if_any(const char* key, const std::optional<std::int64_t>& value) {
    return value ? add(key, *value) : *this;
  }
  Line& if_any(const char* key, const std::optional<double>& value) {
    return value ? real(key, *value) : *this;
  }
  Line& if_any(const char* key, const std::optional<std::string>& value) {
    return value ? text(key, *value) : *this;
  }
  [[nodiscard]] Json done() { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

Json json(const Hello& a) {
  return Line("hello")
      .text("torch", a.torch)
      .text("device", a.device)
      .text("device_name", a.device_name)
      .if_any("cuda", a.cuda)
      .if_any("cudnn", a.cudnn)
      .if_any("gpu_uuid", a.gpu_uuid)
      .add("threads", a.threads)
      .add("process", a.process)
      .done();
}
Hello read_hello(const Fields& f) {
  return {f.text("torch"),        f.text("device"),          f.text("device_name"), f.text_if_any("cuda"),
          f.text_if_any("cudnn"), f.text_if_any("gpu_uuid"), f.whole("threads"),    f.whole("process")};
}

Json json(const Unsupported& a) {
  Json operators = Json::array();
  for (const Unsupported::Item& item : a.operators)
    operators.push_back(
        {{"op", text_json(item.op)}, {"nodes", item.nodes}, {"reason", text_json(item.reason)}});
  return Line("unsupported").add("operators", std::move(operators)).done();
}
Unsupported read_unsupported(const Fields& f) {
  Unsupported a;
  f.each("operators", [&a](const Fields& item) {
    a.operators.push_back({item.text("op"), item.whole("nodes"), item.text("reason")});
  });
  return a;
}

Json json(const Prepared& a) {
  Json recognised = Json::array();  // names are a network's own: no keys
  for (const auto& [kernel, times] : a.recognised)
    recognised.push_back({{"kernel", text_json(kernel)}, {"times", times}});
  return Line("prepared")
      .add("operators", a.operators)
      .add("recognised", std::move(recognised))
      .add("folded", a.folded)
      .add("in_place", a.in_place)
      .add("quantized_by", text_json(a.quantized_by))
      .done();
}
Prepared read_prepared(const Fields& f) {
  Prepared a{f.whole("operators"),
             {},
             f.whole("folded"),
             f.whole("in_place"),
             f.has("quantized_by") ? f.text("quantized_by") : ""};
  f.each("recognised", [&a](const Fields& item) { a.recognised[item.text("kernel")] = item.whole("times"); });
  return a;
}

Json json(const Context& a) {
  return Line("context")
      .if_any("device_bytes", a.device_bytes)
      .add("resident_bytes", a.resident_bytes)
      .done();
}
Context read_context(const Fields& f) {
  return {f.whole_if_any("device_bytes"), f.whole("resident_bytes")};
}

Json json(const Loaded& a) {
  return Line("loaded")
      .real("seconds", a.seconds)
      .add("bytes", a.bytes)
      .add("parameters", a.parameters)
      .if_any("reserved_bytes", a.reserved_bytes)
      .add("resident_bytes", a.resident_bytes)
      .add("random", a.random)
      .done();
}
Loaded read_loaded(const Fields& f) {
  return {f.not_negative("seconds"),        f.whole("bytes"),          f.whole("parameters"),
          f.whole_if_any("reserved_bytes"), f.whole("resident_bytes"), f.flag("random")};
}

Json json(const Progress& a) {
  return Line("progress")
      .text("phase", a.phase)
      .real("done", a.done)
      .if_any("seconds_left", a.seconds_left)
      .done();
}
Progress read_progress(const Fields& f) {
  return {f.text("phase"), f.not_negative("done"), f.not_negative_if_any("seconds_left")};
}

Json json(const Window& a) {
  return Line("window").add("begin", a.begin).add("passes", a.passes).real("seconds", a.seconds).done();
}
Window read_window(const Fields& f) {
  return {f.flag("begin"), f.whole("passes"), f.not_negative("seconds")};
}

Json json(const Sample& a) {
  return Line("sample").real("seconds", a.seconds).done();
}
Sample read_sample(const Fields& f) {
  return {f.not_negative("seconds")};
}

Json json(const Point& a) {
  Json line = Line("point")
                  .if_any("seconds", a.seconds)
                  .if_any("spread", a.spread)
                  .if_any("workspace_bytes", a.workspace_bytes)
                  .if_any("failure", a.failure)
                  .done();
  line.update(case_json(a.what));
  return line;
}
Point read_point(const Fields& f) {
  return {read_case(f), f.not_negative_if_any("seconds"), f.not_negative_if_any("spread"),
          f.whole_if_any("workspace_bytes"), f.text_if_any("failure")};
}

Json json(const Launch& a) {
  return Line("launch").real("seconds", a.seconds).done();
}
Launch read_launch(const Fields& f) {
  return {f.not_negative("seconds")};
}

Json json(const ChainTime& a) {
  return Line("chain")
      .text("name", a.name)
      .add("calls", a.calls)
      .real("alone_seconds", a.alone_seconds)
      .real("together_seconds", a.together_seconds)
      .done();
}
ChainTime read_chain_time(const Fields& f) {
  return {f.text("name"), f.whole("calls"), f.not_negative("alone_seconds"),
          f.not_negative("together_seconds")};
}

Json json(const Memory& a) {
  return Line("memory")
      .add("peak_allocated_bytes", a.peak_allocated_bytes)
      .if_any("peak_reserved_bytes", a.peak_reserved_bytes)
      .if_any("peak_requested_bytes", a.peak_requested_bytes)
      .if_any("device_used_bytes", a.device_used_bytes)
      .add("peak_resident_bytes", a.peak_resident_bytes)
      .done();
}
Memory read_memory(const Fields& f) {
  return {f.whole("peak_allocated_bytes"), f.whole_if_any("peak_reserved_bytes"),
          f.whole_if_any("peak_requested_bytes"), f.whole_if_any("device_used_bytes"),
          f.whole("peak_resident_bytes")};
}

Json json(const Layers& a) {
  Json layers = Json::array();
  for (const LayerTime& layer : a.layers)
    layers.push_back({{"name", text_json(layer.name)},
                      {"op", text_json(layer.op)},
                      {"seconds", real_json(layer.seconds)}});
  return Line("layers")
      .add("layers", std::move(layers))
      .real("pass_seconds", a.pass_seconds)
      .real("instrumented_seconds", a.instrumented_seconds)
      .real("marker_seconds", a.marker_seconds)
      .add("passes", a.passes)
      .done();
}
Layers read_layers(const Fields& f) {
  Layers a{{},
           f.not_negative("pass_seconds"),
           f.not_negative("instrumented_seconds"),
           f.not_negative("marker_seconds"),
           f.whole("passes")};
  f.each("layers", [&a](const Fields& layer) {
    a.layers.push_back({layer.text("name"), layer.text("op"), layer.not_negative("seconds")});
  });
  return a;
}

Json json(const Measured& a) {
  return Line("measured")
      .real("cold_seconds", a.cold_seconds)
      .add("warm_up", reals_json(a.warm_up))
      .add("samples", reals_json(a.samples))
      .add("passes_per_sample", a.passes_per_sample)
      .text("stopped", a.stopped)
      .text("clock", a.clock)
      .add("captured", a.captured)
      .add("memory", json(a.memory))
      .if_any("loss", a.loss)
      .done();
}
Measured read_measured(const Fields& f) {
  return {f.not_negative("cold_seconds"),
          f.not_negatives("warm_up"),
          f.not_negatives("samples"),
          f.whole("passes_per_sample", 1),
          f.text("stopped"),
          f.text("clock"),
          f.flag("captured"),
          read_memory(f.section("memory")),
          f.real_if_any("loss")};
}

Json json(const Latencies& a) {
  return Line("latencies")
      .add("seconds", reals_json(a.seconds))
      .real("elapsed", a.elapsed)
      .add("samples", a.samples)
      .add("passes", a.passes)
      .done();
}
Latencies read_latencies(const Fields& f) {
  return {f.not_negatives("seconds"), f.not_negative("elapsed"), f.whole("samples"), f.whole("passes")};
}

Json json(const Epoch& a) {
  return Line("epoch")
      .add("epoch", a.epoch)
      .add("losses", reals_json(a.losses))
      .real("seconds", a.seconds)
      .if_any("accuracy", a.accuracy)
      .if_any("loss", a.loss)
      .if_any("test_loss", a.test_loss)
      .if_any("test_seconds", a.test_seconds)
      .done();
}
Epoch read_epoch(const Fields& f) {
  return {f.whole("epoch"),
          f.reals("losses"),
          f.not_negative("seconds"),
          f.real_if_any("accuracy"),
          f.real_if_any("loss"),
          f.real_if_any("test_loss"),
          f.not_negative_if_any("test_seconds")};
}

Json json(const Learned& a) {
  return Line("learned")
      .add("epoch", a.epoch)
      .add("first_step", a.first_step)
      .add("losses", reals_json(a.losses))
      .real("learning_rate", a.learning_rate)
      .add("examples", a.examples)
      .real("seconds", a.seconds)
      .done();
}
Learned read_learned(const Fields& f) {
  return {f.whole("epoch"),    f.whole("first_step"),    f.reals("losses"), f.not_negative("learning_rate"),
          f.whole("examples"), f.not_negative("seconds")};
}

Json json(const Saved& a) {
  return Line("saved").add("step", a.step).add("epoch", a.epoch).text("file", a.file).done();
}
Saved read_saved(const Fields& f) {
  return {f.whole("step"), f.whole("epoch"), f.text("file")};
}

Json json(const WentOn& a) {
  return Line("went-on").add("step", a.step).add("epoch", a.epoch).done();
}
WentOn read_went_on(const Fields& f) {
  return {f.whole("step"), f.whole("epoch")};
}

Json json(const Tested& a) {
  return Line("tested")
      .add("examples", a.examples)
      .if_any("accuracy", a.accuracy)
      .if_any("loss", a.loss)
      .real("seconds", a.seconds)
      .done();
}
Tested read_tested(const Fields& f) {
  return {f.whole("examples"), f.real_if_any("accuracy"), f.real_if_any("loss"), f.not_negative("seconds")};
}

Json json(const Joined& a) {
  return Line("joined")
      .add("epoch", a.epoch)
      .add("accuracies", reals_json(a.accuracies))
      .add("losses", reals_json(a.losses))
      .real("seconds", a.seconds)
      .add("held", a.held)
      .done();
}
Joined read_joined(const Fields& f) {
  return {f.whole("epoch"), f.not_negatives("accuracies"), f.reals("losses"), f.not_negative("seconds"),
          f.flag("held")};
}

Json json(const LaidOut& a) {
  Json members = Json::array();
  for (const LaidOut::Member& member : a.members) {
    Json layers = Json::array();
    for (const LaidOut::Layer& layer : member.layers)
      layers.push_back({{"seconds", real_json(layer.seconds)}, {"tensors", layer.tensors}});
    members.push_back({{"layers", std::move(layers)}, {"activation_bytes", member.activation_bytes}});
  }
  return Line("laid-out")
      .add("tensor_bytes", a.tensor_bytes)
      .add("members", std::move(members))
      .real("copy_bandwidth", a.copy_bandwidth)
      .real("copy_latency", a.copy_latency)
      .done();
}
LaidOut read_laid_out(const Fields& f) {
  LaidOut a{
      f.wholes("tensor_bytes", 0), {}, f.not_negative("copy_bandwidth"), f.not_negative("copy_latency")};
  const std::int64_t most = std::ssize(a.tensor_bytes) - 1;
  f.each("members", [&](const Fields& member) {
    LaidOut::Member& out = a.members.emplace_back();
    out.activation_bytes = member.whole("activation_bytes");
    member.each("layers", [&](const Fields& layer) {
      out.layers.push_back({layer.not_negative("seconds"), layer.wholes("tensors", 0, most)});
    });
  });
  return a;
}

Json json(const Swapped& a) {
  Json frames = Json::array();
  for (const Swapped::Frame& frame : a.frames)
    frames.push_back(
        {{"frame", frame.frame}, {"begin", real_json(frame.begin)}, {"finish", real_json(frame.finish)}});
  return Line("swapped")
      .add("frames", std::move(frames))
      .add("moved_bytes", a.moved_bytes)
      .add("peak_bytes", a.peak_bytes)
      .add("decided_bytes", a.decided_bytes)
      .add("decided_peak_bytes", a.decided_peak_bytes)
      .add("copies", a.copies)
      .real("copying_seconds", a.copying_seconds)
      .real("elapsed", a.elapsed)
      .add("outputs_differing", a.outputs_differing)
      .add("activation_bytes", a.activation_bytes)
      .done();
}
Swapped read_swapped(const Fields& f) {
  Swapped a{{},
            f.whole("moved_bytes"),
            f.whole("peak_bytes"),
            f.whole("decided_bytes"),
            f.whole("decided_peak_bytes"),
            f.whole("copies"),
            f.not_negative("copying_seconds"),
            f.not_negative("elapsed"),
            f.whole("outputs_differing"),
            f.whole("activation_bytes")};
  f.each("frames", [&a](const Fields& frame) {
    a.frames.push_back({frame.whole("frame"), frame.not_negative("begin"), frame.not_negative("finish")});
  });
  return a;
}

Json json(const DoesNotFit& a) {
  return Line("does-not-fit")
      .text("phase", a.phase)
      .if_any("asked_bytes", a.asked_bytes)
      .if_any("free_bytes", a.free_bytes)
      .if_any("total_bytes", a.total_bytes)
      .if_any("allocated_bytes", a.allocated_bytes)
      .if_any("reserved_bytes", a.reserved_bytes)
      .text("message", a.message)
      .done();
}
DoesNotFit read_does_not_fit(const Fields& f) {
  return {f.text("phase"),
          f.whole_if_any("asked_bytes"),
          f.whole_if_any("free_bytes"),
          f.whole_if_any("total_bytes"),
          f.whole_if_any("allocated_bytes"),
          f.whole_if_any("reserved_bytes"),
          f.text("message")};
}

Json json(const Failure& a) {
  return Line("error")
      .text("message", a.message)
      .text("where", a.where)
      .text("hint", a.hint)
      .text("kind", a.kind)
      .done();
}
Failure read_failure(const Fields& f) {
  return {f.text("message"), f.text("where"), f.text("hint"), f.text("kind")};
}

Json json(const Done&) {
  return Line("done").done();
}
Done read_done(const Fields&) {
  return {};
}

struct Kind {
  std::string_view type;
  Answer (*read)(const Fields&);
};
template <auto read>
Answer answer(const Fields& fields) {
  return read(fields);
}
constexpr std::array kKinds = {
    Kind{"hello", answer<read_hello>},       Kind{"unsupported", answer<read_unsupported>},
    Kind{"prepared", answer<read_prepared>}, Kind{"context", answer<read_context>},
    Kind{"loaded", answer<read_loaded>},     Kind{"progress", answer<read_progress>},
    Kind{"window", answer<read_window>},     Kind{"layers", answer<read_layers>},
    Kind{"measured", answer<read_measured>}, Kind{"latencies", answer<read_latencies>},
    Kind{"epoch", answer<read_epoch>},       Kind{"does-not-fit", answer<read_does_not_fit>},
    Kind{"error", answer<read_failure>},     Kind{"done", answer<read_done>},
    Kind{"sample", answer<read_sample>},     Kind{"point", answer<read_point>},
    Kind{"launch", answer<read_launch>},     Kind{"chain", answer<read_chain_time>},
    Kind{"learned", answer<read_learned>},   Kind{"saved", answer<read_saved>},
    Kind{"went-on", answer<read_went_on>},   Kind{"tested", answer<read_tested>},
    Kind{"joined", answer<read_joined>},     Kind{"laid-out", answer<read_laid_out>},
    Kind{"swapped", answer<read_swapped>}};
static_assert(kKinds.size() == std::variant_size_v<Answer>);

}  // namespace

std::string write(const Answer& answer) {
  return dump(std::visit([](const auto& a) { return json(a); }, answer));
}

Result<Answer> read_answer(std::string_view line) {
  const Result<Json> document = parse_within(line, kMostLineBytes, kAnswerLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const Fields fields(*document, "", error);
  const std::string type = fields.text("type");
  for (const Kind& kind : kKinds) {
    if (error || kind.type != type) continue;
    Answer found = kind.read(fields);
    if (error) return std::unexpected(std::move(*error).within(kind.type));
    return found;
  }
  if (error) return std::unexpected(std::move(*error));
  return fail("no answer has the type {}", quote(type));
}

}  // namespace plimsoll::job
