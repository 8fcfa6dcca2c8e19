#include "polykern/algorithms/paper/kernel_choice.h"

#include <utility>

#include "polykern/core/random.h"
#include "polykern/core/random_features.h"
#include "polykern/core/subset.h"

namespace polykern {

KernelChoice::KernelChoice(std::shared_ptr<const KernelBank> bank, std::size_t per_upload,
                           double exploration, std::uint64_t seed)
    : bank_(std::move(bank)), per_upload_(per_upload), exploration_(exploration), seed_(seed) {}

void KernelChoice::Run(const Algorithm& algorithm, const Broadcast& broadcast,
                       const Samples& samples, Workspace& w) const {
  const std::size_t clients = samples.clients.size();
  const std::size_t n = kernels();
  w.weights.resize(clients * n);
  w.f.resize(clients * n);
  w.order.resize(n);
  Updates& u = w.updates;
  u.step = broadcast.step;
  u.clients.assign(samples.clients.begin(), samples.clients.end());
  u.first.assign(1, 0);
  u.probability.resize(clients);
  u.blocks.resize(clients * per_upload_);
  for (std::size_t c = 0; c < clients; ++c) {
    const auto weights = std::span(w.weights).subspan(c * n, n);
    algorithm.Weights({samples.state[c], algorithm.state_size()}, broadcast.step, weights);
    // 6. Subset choice (10); there is nothing to draw if all kernels are in one bin.
    double uniform = 0;
    if (per_upload_ < n) {
      uniform = samples.uniforms.empty()
                    ? Random(seed_, Purpose::kSubset, samples.clients[c], broadcast.step).Uniform()
                    : samples.uniforms[c];
    }
    const Bin bin = ChooseBin({samples.state[c], n}, weights, per_upload_, exploration_, uniform,
                              w.order, std::span(u.blocks).subspan(u.first.back(), per_upload_));
    u.probability[c] = bin.probability;
    u.first.push_back(u.first.back() + bin.count);
  }
  u.blocks.resize(u.first.back());
  // 2. Features (6), kept in the updates where they are chosen, and 3. per-kernel predictions
  // f_i = theta_i . z_i(x).
  u.values.resize(u.blocks.size() * width());
  EvaluateKernels(*bank_, {clients, samples.x, broadcast.model, u.first, u.blocks, w.f, u.values},
                  w.features);
}

}  // namespace polykern
