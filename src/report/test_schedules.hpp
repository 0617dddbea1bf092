#pragma once
#include <string>
#include <vector>

#include "plan/schedule/planner.hpp"

namespace plimsoll::report {

/// Two GPUs under MPS. On the first, "one" (0 to 100 s) beside "two" (0 to 50 s), and then "three" (50 to
/// 120 s), which ends last; on the second "four", of unknown memory, from 20 s on, when it arrives.
inline plan::schedule::Plan made_up_plan() {
  plan::schedule::Plan out;
  out.instance.kinds = {{.name = "small", .share = 0.4, .memory = 8 * kGiB, .activity = 0.5},
                        {.name = "large", .share = 0.9, .memory = 40 * kGiB, .activity = 0.9},
                        {.name = "unknown", .share = 1, .memory = {}, .activity = 1}};
  out.instance.jobs = {{.name = "one", .kind = 1, .seconds = 80},
                       {.name = "two", .kind = 0, .seconds = 40},
                       {.name = "three", .kind = 0, .seconds = 63},
                       {.name = "four", .kind = 2, .seconds = 60, .arrival = 20}};
  out.instance.setups = {{.way = share::Way::mps, .cap = 0.5}};
  out.instance.places = {{.name = "0", .device = 0, .setup = 0, .memory = 80 * kGiB, .price = 3.6},
                         {.name = "1", .device = 1, .setup = 0, .memory = 80 * kGiB, .price = 3.6}};
  out.layouts = {"mps 50", "mps 50"};
  out.outcome.jobs = {{.start = 0, .end = 100, .places = {0}},
                      {.start = 0, .end = 50, .places = {0}},
                      {.start = 50, .end = 120, .places = {0}},
                      {.start = 20, .end = 80, .places = {1}}};
  out.outcome.makespan = 120;
  out.outcome.mean_completion = 82.5;
  out.outcome.mean_waiting = 12.5;
  out.outcome.joules = 7.2e4;
  out.outcome.money = 0.24;
  out.outcome.active = 0.6;
  out.bound = {.work = 100, .longest = 80};
  plan::schedule::Outcome exclusive = out.outcome;
  exclusive.makespan = 183;
  out.alternatives = {{"exclusive", exclusive}};
  return out;
}

/// A GPU in two slices beside a whole one; a service in the first slice, and a job that waits for another.
inline plan::schedule::Plan plan_in_slices() {
  plan::schedule::Plan out;
  out.instance.kinds = {{.name = "job", .memory = 8 * kGiB},
                        {.name = "service", .memory = kGiB, .serves = true}};
  out.instance.jobs = {{.name = "serve", .kind = 1},
                       {.name = "first", .kind = 0, .seconds = 30},
                       {.name = "second", .kind = 0, .seconds = 30, .after = {1}}};
  out.instance.setups = {{.way = share::Way::exclusive},
                         {.way = share::Way::mig, .profile = "3g.71gb"},
                         {.way = share::Way::mig, .profile = "4g.71gb"}};
  out.instance.places = {{.name = "0:0", .device = 0, .setup = 1, .memory = 70 * kGiB},
                         {.name = "0:1", .device = 0, .setup = 2, .memory = 70 * kGiB},
                         {.name = "1", .device = 1, .setup = 0, .memory = 140 * kGiB}};
  out.layouts = {"3g.71gb, 4g.71gb", "exclusive"};
  out.outcome.jobs = {{.start = 0, .end = 70, .places = {0}},
                      {.start = 0, .end = 30, .places = {2}},
                      {.start = 30, .end = 70, .places = {1}}};
  out.outcome.makespan = 70;
  return out;
}

}  // namespace plimsoll::report
