#include "rank_device.h"

#include <algorithm>
#include <string>
#include <vector>

#include "console.h"
#include "polykern/core/text.h"
#include "polykern/gpu/gpu.h"

namespace polykern {

std::unique_ptr<FleetDevice> OpenRankDevice(const std::string& name, Communicator& ranks) {
  auto device = OpenDevice(name, ranks.local_rank());
  if (device == nullptr || ranks.size() == 1) return device;
  const std::string id = device->id();
  std::vector<Words> ids;
  ranks.AllGather({id.begin(), id.end()}, ids);
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  if (repeated.empty()) return device;
  const std::size_t gpus = ids.size() - repeated.size();
  PrintNotices({Count(ranks.size(), "rank") + " share " + Count(gpus, "GPU") +
                ", and take turns on it: start one rank for each"});
  return device;
}

}  // namespace polykern
