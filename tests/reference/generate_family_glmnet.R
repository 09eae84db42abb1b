# Reference values of binomial and Poisson networks without confounder, by R and glmnet.
#
#   Rscript generate_family_glmnet.R
#
# reads data/<family>_<name>.csv, writes family_reference.json. Needs glmnet and Matrix only.
#
# Objective, with t_k = x_k (binomial) or the logarithm of counts below (Poisson) and s_k the standard
# deviation of t_k (divisor n), over symmetric Omega and free intercepts a_j:
#   - (1/n) sum_j loglik_j(a_j + sum_k Omega_jk t_k) + lambda sum_{j<k} s_j s_k |Omega_jk|

suppressPackageStartupMessages({
  library(Matrix)
  library(glmnet)
})

FRACTIONS <- c(1.05, 0.7, 0.4, 0.2, 0.08, 0.02)  # of lambda_max
glmnet.control(fdev = 0, devmax = 1, mxitnr = 200, epsnr = 1e-14)
file_arg <- grep("^--file=", commandArgs(FALSE), value = TRUE)
here <- if (length(file_arg)) dirname(sub("^--file=", "", file_arg[1])) else "."

solve_problem <- function(X, family) {
  n <- nrow(X)
  p <- ncol(X)
  T <- X
  if (family == "poisson") {
    for (k in seq_len(p)) {
      m <- mean(X[, k])
      T[, k] <- m + (1 + m) * log((1 + X[, k]) / (1 + m))
    }
  }
  s <- apply(T, 2, function(v) sqrt(mean((v - mean(v))^2)))
  pairs <- t(combn(p, 2))
  npair <- nrow(pairs)
  nvars <- npair + p
  rows <- function(j) (j - 1) * n + seq_len(n)
  i <- j <- x <- list()
  for (e in seq_len(npair)) {
    a <- pairs[e, 1]
    b <- pairs[e, 2]
    i[[e]] <- c(rows(a), rows(b))
    j[[e]] <- rep(e, 2 * n)
    x[[e]] <- c(T[, b], T[, a])
  }
  for (a in seq_len(p)) {
    i[[npair + a]] <- rows(a)
    j[[npair + a]] <- rep(npair + a, n)
    x[[npair + a]] <- rep(1, n)
  }
  D <- sparseMatrix(unlist(i), unlist(j), x = unlist(x), dims = c(n * p, nvars))
  y <- as.vector(X)
  weight <- s[pairs[, 1]] * s[pairs[, 2]]
  pf <- c(weight, rep(0, p))
  mean_of <- function(eta) if (family == "poisson") exp(eta) else 1 / (1 + exp(-eta))
  null <- rep(colMeans(X), each = n)
  lambda_max <- max(abs(as.vector(crossprod(D[, seq_len(npair)], y - null))) / n / weight)
  lambda <- signif(lambda_max * FRACTIONS, 6)
  # glmnet: -loglik / (n p) + l * pf_k |b_k|, pf rescaled to sum to nvars
  fit <- glmnet(D, y,
    family = family, lambda = lambda / p * sum(pf) / nvars, penalty.factor = pf,
    intercept = FALSE, standardize = FALSE, thresh = 1e-22, maxit = 1e8
  )
  stopifnot(fit$jerr == 0, length(fit$lambda) == length(lambda))
  B <- as.matrix(fit$beta)
  path <- lapply(seq_along(lambda), function(l) {
    beta <- B[, l]
    eta <- as.vector(D %*% beta)
    gradient <- -as.vector(crossprod(D, y - mean_of(eta))) / n
    pen <- pf > 0
    worst <- max(
      abs(gradient[!pen]),
      ifelse(beta[pen] != 0, abs(gradient[pen] + lambda[l] * pf[pen] * sign(beta[pen])),
             pmax(abs(gradient[pen]) - lambda[l] * pf[pen], 0))
    )
    M <- diag(beta[npair + seq_len(p)], p)
    M[pairs] <- beta[seq_len(npair)]
    M[pairs[, 2:1]] <- beta[seq_len(npair)]
    list(omega = M, kkt = worst, n_edges = sum(beta[seq_len(npair)] != 0))
  })
  list(lambda_max = lambda_max, lambda = lambda, path = path)
}

num <- function(v) sprintf("%.15g", v)
row_json <- function(v) paste0("[", paste(num(v), collapse = ", "), "]")
matrix_json <- function(M) paste0("[", paste(apply(M, 1, row_json), collapse = ", "), "]")

problems <- character(0)
for (path in sort(Sys.glob(file.path(here, "data", c("binomial_*.csv", "poisson_*.csv"))))) {
  name <- sub("\\.csv$", "", basename(path))
  family <- sub("_.*$", "", name)
  X <- unname(as.matrix(read.csv(path)))
  found <- solve_problem(X, family)
  worst <- max(sapply(found$path, `[[`, "kkt"))
  cat(sprintf("%-20s lambda_max %.4g  kkt %.1e  edges %s\n", name, found$lambda_max, worst,
    paste(sapply(found$path, `[[`, "n_edges"), collapse = " ")))
  stopifnot(worst < 1e-8)
  omegas <- paste(sapply(found$path, function(one) matrix_json(one$omega)), collapse = ",\n   ")
  problems <- c(problems, paste0(
    "  \"", name, "\": {\n   \"family\": \"", family, "\", \"lambda_max\": ", num(found$lambda_max),
    ",\n   \"lambda\": ", row_json(found$lambda), ",\n   \"omega\": [\n   ", omegas, "]}"
  ))
}
writeLines(paste0(
  "{\n \"R\": \"", R.version$major, ".", R.version$minor, "\", \"glmnet\": \"",
  packageVersion("glmnet"), "\",\n \"problems\": {\n", paste(problems, collapse = ",\n"), "\n }\n}"
), file.path(here, "family_reference.json"))
