#include "polykern/algorithms/shared/kernel_draw.h"

#include "polykern/core/random.h"
#include "polykern/core/subset.h"

namespace polykern {

void KernelDraw::Draw(const Samples& samples, std::size_t c, std::span<const double> weights,
                      std::vector<std::uint32_t>& scratch, Updates& updates) const {
  const std::size_t kernels = weights.size();
  double uniform = 0;  // there is nothing to draw if all kernels are in one bin
  if (per_upload_ < kernels) {
    uniform = samples.uniforms.empty()
                  ? Random(seed_, Purpose::kSubset, samples.clients[c], updates.step).Uniform()
                  : samples.uniforms[c];
  }
  const std::size_t start = updates.first[c];
  scratch.resize(kernels);
  const Bin bin = ChooseBin({samples.state[c], kernels}, weights, per_upload_, exploration_,
                            uniform, scratch, std::span(updates.blocks).subspan(start));
  updates.first[c + 1] = start + bin.count;
  updates.probability[c] = bin.probability;
}

}  // namespace polykern
