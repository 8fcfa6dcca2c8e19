/* A client of a real federation inside a program in C: two made-up inputs and their product.
 * Server: polykern serve --dimension 2 --target-range 0:1; then: example_agent_c HOST:PORT
 * CERTIFICATES */
#include <math.h>
#include <stdio.h>

#include "polykern/agent_c.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: example_agent_c HOST:PORT CERTIFICATES\n");
    return 1;
  }
  const polykern_agent_options options = {
      .server = argv[1], .certificates = argv[2], .state = "example_agent_c.state"};
  polykern_agent* agent = NULL;
  if (polykern_agent_open(&options, &agent) != POLYKERN_OK) {
    fprintf(stderr, "example_agent_c: %s\n", polykern_error_text());
    return 1;
  }
  double squared_error = 0;
  for (int t = 0; t < 200; ++t) {
    const double x[2] = {sin(1 + 0.37 * t), cos(0.61 * t)};
    const double y = 0.5 + 0.5 * x[0] * x[1]; /* known a little later */
    polykern_prediction prediction;
    polykern_result result;
    while ((result = polykern_agent_predict(agent, x, 2, 1.0, &prediction)) == POLYKERN_NO_MODEL) {
      fprintf(stderr, "waiting: %s\n", polykern_error_text());
    }
    if (result == POLYKERN_OK) {
      squared_error = pow(prediction.value - y, 2);
      if (t == 0) printf("squared error at the first step %g, ", squared_error);
      result = polykern_agent_learn(agent, y);
    }
    if (result != POLYKERN_OK) {
      fprintf(stderr, "example_agent_c: %s\n", polykern_error_text());
      polykern_agent_close(agent, 0);
      return 1;
    }
  }
  polykern_agent_close(agent, 10);
  printf("at the last %g\n", squared_error);
  return 0;
}
