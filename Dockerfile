# The command plaggm with pictures and pages. The demo, its result in the current folder:
#
#   docker build -t plaggm .
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" plaggm
#
# A table of your own:
#
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" plaggm fit prices.csv --confounder volatility

FROM python:3.12-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/plaggm-*.whl)[plot,cli]" && rm -r /wheels
# Whoever runs it need not have a home in the image.
ENV HOME=/tmp MPLBACKEND=Agg MPLCONFIGDIR=/tmp/matplotlib NUMBA_CACHE_DIR=/tmp/numba
WORKDIR /data
ENTRYPOINT ["plaggm"]
CMD ["demo", "--force"]
