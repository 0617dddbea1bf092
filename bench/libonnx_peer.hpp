#pragma once
#include <cstddef>
#include <string>

/// libonnx, the reference implementation, behind a door: its headers stay in one file.
struct PeerResult {
  bool inferred = false;    ///< InferShapes ended without an error
  std::size_t outputs = 0;  ///< of all operators of the main graph
  std::size_t shaped = 0;   ///< those with a rank and every extent a number or a name
};

/// Reads the file, parses it, and infers shapes, as a program in C++ would.
[[nodiscard]] PeerResult peer_inspect(const std::string& path);
/// The same, and then looks at what was inferred (not to be timed).
[[nodiscard]] PeerResult peer_coverage(const std::string& path);
