#pragma once
#include <deque>
#include <vector>

#include "network/inference.hpp"

namespace plimsoll::network {

/// Walks a Network's graphs and keeps the table that InferenceContext reads and writes. Private to the
/// inference: rules see only the context.
class InferenceEngine {
 public:
  InferenceEngine(const Network& network, const InferOptions& options)
      : network_(network), options_(options) {}

  [[nodiscard]] Status start(const Binding& binding);
  [[nodiscard]] Status run(const Graph& graph);
  [[nodiscard]] Shapes take() && { return std::move(shapes_); }

 private:
  friend class InferenceContext;
  using Staged = std::vector<InferenceContext::Output>;

  [[nodiscard]] Status infer(const Operator& op);
  [[nodiscard]] Status infer_without_rule(const Operator& op);
  [[nodiscard]] Status check_arity(const Operator& op, const OperatorInfo& row) const;
  [[nodiscard]] Status store(TensorId id, const Inferred& inferred);
  [[nodiscard]] Status store_declared(TensorId id, const Binding& binding);
  [[nodiscard]] Status check_size(const Inferred& inferred) const;

  const Network& network_;
  const InferOptions& options_;
  Shapes shapes_;
  std::vector<Dim> bound_;     // per declared symbol of the Network
  std::deque<Staged> staged_;  // one per depth of bodies; a deque, since contexts keep references
  std::size_t depth_ = 0;
  std::uint32_t unknowns_ = 0;
  std::size_t value_budget_ = 0;
};

}  // namespace plimsoll::network
