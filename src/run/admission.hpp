#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/units.hpp"
#include "run/devices.hpp"
#include "run/inventory.hpp"
#include "run/promises.hpp"

namespace plimsoll::running {

/// A device's memory as a job finds it that is to start there.
struct Room {
  Bytes free;
  Bytes total;               ///< that programs can have at most
  Bytes promised = {};       ///< of what is free, to runs that have not taken their need yet
  bool use_is_known = true;  ///< else a promise counts whole, though a part of it may be taken
  std::string device = {};   ///< "GPU 0", "MIG slice 0:1 (1g.18gb)"
  friend bool operator==(const Room&, const Room&) = default;
};

/// Whether a job may start, and why not.
struct Admission {
  enum class Answer {
    start,
    wait,   ///< fits once others have ended
    never,  ///< not even where nobody else is
  };
  Answer answer = Answer::start;
  std::string why = {};  ///< "needs 6.00 GiB (given), and …"; empty where it starts
  friend bool operator==(const Admission&, const Admission&) = default;
};

/// What a device has for a job that starts now. A MIG slice is asked itself; of a GPU that is cut into slices
/// the first, as CUDA takes it. Nothing where the driver does not tell.
[[nodiscard]] std::optional<Room> room_on(const ChosenDevice& device, const Host& host,
                                          std::span<const Promise> promises);

/// What is not known cannot be a reason to wait: such a job starts.
[[nodiscard]] Admission admit(const std::optional<Need>& need, const std::optional<Room>& room);

/// On all its devices: the strictest answer.
[[nodiscard]] Admission admit(const std::optional<Need>& need, std::span<const ChosenDevice> devices,
                              const Host& host, std::span<const Promise> promises);

}  // namespace plimsoll::running
